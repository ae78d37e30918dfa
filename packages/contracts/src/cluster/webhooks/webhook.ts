import type { FromSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { asRead, specOf } from '../clusters/requests.js';
import { clusterLimits } from '../limits.js';
import { count, filled, givenTime, optionalTime, time, uuid } from '../schema-parts.js';
import { apiVersion } from '../states.js';
import { type TeamEvent, type TeamEventKind, teamEventKinds } from '../team-event.js';

const specSchema = closed(['url'], {
  url: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.webhookUrlCharacters,
    pattern: textRules.webhookUrl.pattern,
    description: 'Where events are posted: an https URL with a public address.',
  },
  kinds: {
    type: 'array',
    items: { enum: teamEventKinds },
    maxItems: teamEventKinds.length,
    uniqueItems: true,
    default: [],
    description: 'Kinds of resources whose events are sent. Empty: all.',
  },
});

export const webhookPutSchema = specOf(specSchema, asRead('Webhook', 'name'));

export const webhookReplaySchema = closed(['since'], {
  since: {
    ...givenTime,
    description: `Events from this time on are sent again (RFC 3339). Events are kept for ${clusterLimits.teamEventsKeptHours} hours.`,
  },
});

const shown = {
  apiVersion: { const: apiVersion },
  kind: { const: 'Webhook' },
  metadata: exactly({
    name: { ...filled, description: 'As in the path of the webhook.' },
    id: uuid,
    team: filled,
    createdAt: time,
    updatedAt: time,
  }),
  spec: exactly({ url: filled, kinds: { type: 'array', items: { enum: teamEventKinds } } }),
  status: exactly({
    deliveredAt: { ...optionalTime, description: 'When the receiver last accepted a message.' },
    failingSince: {
      ...optionalTime,
      description: 'Since when the oldest message was refused. Null while messages are accepted.',
    },
    failures: { ...count, description: 'Attempts in a row that failed.' },
    lastFailure: {
      type: ['string', 'null'],
      description:
        'Why the last attempt failed, such as `status 500`, `ECONNREFUSED` or `NOT_PUBLIC`. Null while messages are accepted.',
    },
    nextTryAt: { ...optionalTime, description: 'When the message is tried again. Null while messages are accepted.' },
  }),
} as const;

export const webhookSchema = exactly(shown);
const secret = {
  type: 'string',
  pattern: '^whsec_[A-Za-z0-9+/]+=*$',
  description: 'Signs the messages (Standard Webhooks, symmetric). Shown only once.',
} as const;
export const createdWebhookSchema = exactly({ ...shown, secret });
export const webhookSecretSchema = exactly({
  secret,
  previousUntil: { ...time, description: 'Until then, messages are signed with the previous secret as well.' },
});
export const webhookListSchema = exactly({
  items: { type: 'array', maxItems: clusterLimits.webhooksPerTeam, items: webhookSchema },
});

/** Messages that no event of the team caused. */
const webhookNotices = {
  /** The first message: later changes follow. */
  ready: 'ready',
  /** Events were lost because they were not accepted in time: load the state again. */
  reset: 'reset',
  /** Somebody asked for it. */
  test: 'test',
} as const;
export type WebhookNotice = keyof typeof webhookNotices;

/** The body of a message: an event without its resource, which a GET shows. */
export interface WebhookMessage {
  /** The type of the event, as in the stream (`cluster.changed`), or of a notice. */
  readonly type: string;
  readonly timestamp: string;
  readonly data: { readonly team: string } & Partial<Omit<TeamEvent, 'at' | 'resource'>>;
}

export interface WebhookSpec {
  readonly url: string;
  readonly kinds: readonly TeamEventKind[];
}
export type WebhookBody = FromSchema<typeof webhookSchema>;

export const parseWebhookPut = strictParserFor<{
  readonly spec: WebhookSpec;
  readonly metadata?: { readonly name?: unknown };
}>(webhookPutSchema);
export const parseWebhookReplay = strictParserFor<{ readonly since: string }>(webhookReplaySchema);
