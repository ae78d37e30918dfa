import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';

/** What mails tell people about. */
export const notificationKinds = [
  'failed_operations',
  'rejected_connections',
  'ending_tokens',
  'ending_record_sets',
  'ending_versions',
] as const;
export type NotificationKind = (typeof notificationKinds)[number];

const kinds = {
  type: 'array',
  items: { enum: notificationKinds },
  maxItems: notificationKinds.length,
  uniqueItems: true,
  description: 'What the person gets mails about.',
} as const;

export const notificationsPutSchema = closed(['kinds'], { kinds });
export const notificationsSchema = exactly({ kinds });

export const parseNotificationsPut = strictParserFor<{ readonly kinds: readonly NotificationKind[] }>(
  notificationsPutSchema,
);
