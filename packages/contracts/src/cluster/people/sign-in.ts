import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { text, time, uuid } from '../schema-parts.js';

/**
 * How a session began. `development`: without authentication, on a developer's machine. `command_line`: a signed-in
 * person allowed it in their browser.
 */
export const signInMethods = ['oidc', 'development', 'command_line'] as const;
export type SignInMethod = (typeof signInMethods)[number];

export const sessionSchema = exactly({
  id: uuid,
  method: { enum: signInMethods },
  name: {
    type: ['string', 'null'],
    description: 'What the person allowed: `Corral CLI on` a machine, whose name is not proven. Null for a browser.',
  },
  userAgent: { ...text, description: 'User agent of the browser, truncated to 200 characters; may be empty.' },
  createdAt: time,
  lastSeenAt: { ...time, description: 'Accurate to about 10 s.' },
  expiresAt: { ...time, description: 'When the session ends, regardless of use.' },
  current: { type: 'boolean', description: 'Whether it is the session of this request.' },
});
export type SessionBody = FromSchema<typeof sessionSchema>;
