import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { count, filled, optionalTime, time } from '../schema-parts.js';
import { auditActorSchema } from './audit-entry.js';

export const dnsUsageSchema = exactly({
  records: exactly({
    used: { ...count, description: 'Records in the zone.' },
    reserved: { ...count, description: 'Records reserved for writes in progress.' },
    limit: count,
  }),
  tokens: exactly({ active: count, limit: count }),
  requests: exactly({
    lastHour: {
      ...count,
      description: 'Requests with a valid token, including refused ones. Counted by minute, about 10 s behind.',
    },
    limitPerMinute: {
      ...count,
      description:
        'Requests of the team per minute. Beyond it, writes and reads of one record set wait, and other reads are refused.',
    },
  }),
  upstream: {
    ...exactly({
      limit: { type: ['integer', 'null'], minimum: 0, description: 'Calls per hour.' },
      remaining: { type: ['integer', 'null'], minimum: 0, description: 'Calls that can be made now.' },
      resetAt: { ...optionalTime, description: 'When the full budget is available again without further calls.' },
      observedAt: { ...optionalTime, description: 'When the budget was last updated.' },
    }),
    description: 'The upstream’s budget, shared by all teams. Null where unknown.',
  },
});
export type DnsUsageBody = FromSchema<typeof dnsUsageSchema>;

/** The quota of records bounds the list, so it has no pages. */
export const recordSetChangesSchema = exactly({
  items: {
    type: 'array',
    items: exactly({
      name: { ...filled, description: 'As in the DNS API.' },
      type: filled,
      changedAt: { ...time, description: 'For a set that Corral found in the zone, the time of finding it.' },
      changedBy: {
        anyOf: [auditActorSchema, { type: 'null' }],
        description: 'Null when the audit log does not have the change.',
      },
    }),
  },
});
export type RecordSetChangesBody = FromSchema<typeof recordSetChangesSchema>;
