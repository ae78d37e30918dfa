import type { FromSchema } from 'json-schema-to-ts';
import { exactly, text, time, uuid } from './schema-parts.js';

/** How a session began. `development`: without proof, on a developer's machine. */
export const signInMethods = ['oidc', 'development'] as const;
export type SignInMethod = (typeof signInMethods)[number];

export const sessionSchema = exactly({
  id: uuid,
  method: { enum: signInMethods },
  userAgent: { ...text, description: 'What the browser called itself, cut to 200 characters; may be empty.' },
  createdAt: time,
  lastSeenAt: { ...time, description: 'To about 10 s.' },
  expiresAt: { ...time, description: 'When it ends, whatever its use.' },
  current: { type: 'boolean', description: 'Whether it is the session that asks.' },
});
export type SessionBody = FromSchema<typeof sessionSchema>;
