import type { FromSchema } from 'json-schema-to-ts';
import { count, exactly, time } from './schema-parts.js';

const optionalTime = { type: ['string', 'null'], pattern: time.pattern } as const;

export const dnsUsageSchema = exactly({
  records: exactly({
    used: { ...count, description: 'In the zone.' },
    reserved: { ...count, description: 'Held for writes under way.' },
    limit: count,
  }),
  tokens: exactly({ active: count, limit: count }),
  requests: exactly({
    lastHour: { ...count, description: 'With a valid token, refused ones included; to the minute, about 10 s behind.' },
  }),
  upstream: {
    ...exactly({
      limit: { type: ['integer', 'null'], minimum: 0, description: 'Calls per hour.' },
      remaining: { type: ['integer', 'null'], minimum: 0, description: 'Calls that can be made at once.' },
      resetAt: { ...optionalTime, description: 'When all of it is back if nobody calls.' },
      observedAt: { ...optionalTime, description: 'When the account was last brought up to date.' },
    }),
    description: 'The budget of the upstream, which all teams share. Null where it is not known.',
  },
});
export type DnsUsageBody = FromSchema<typeof dnsUsageSchema>;
