import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../schema-objects.js';
import { clusterLimits } from './limits.js';
import { amount, filled, time } from './schema-parts.js';

export const usageSteps = ['hour', 'day'] as const;
export type UsageStep = (typeof usageSteps)[number];

const numberOrGap = (description: string) => ({ type: ['integer', 'null'], minimum: 0, description }) as const;
const amountOrGap = (description: string) => ({ ...amount, description }) as const;

const usagePointSchema = exactly({
  from: { ...time, description: 'Start of the hour or day, in UTC.' },
  complete: {
    type: 'boolean',
    description:
      'Whether the values are final. `false` for the current hour or day, until its last requests and writes are added up.',
  },
  recordedHours: {
    type: 'integer',
    minimum: 0,
    maximum: 24,
    description: 'Number of hours with values. 0: a gap, in which nothing was recorded, and all values are null.',
  },
  requests: numberOrGap(
    'Requests to the DNS API with a valid token, including refused ones. A day is the sum of its known hours.',
  ),
  writes: numberOrGap('DNS writes that took effect. A day is the sum of its known hours.'),
  refusedWrites: numberOrGap(
    'DNS writes that Corral or the upstream refused, or that had no effect. A day is the sum of its known hours.',
  ),
  records: {
    ...exactly({ used: numberOrGap('Records in the zone.'), limit: numberOrGap('Quota of records.') }),
    description: 'At the end of the hour or day, like all of the following values.',
  },
  dnsTokens: numberOrGap('Active DNS tokens.'),
  clusters: numberOrGap('Clusters, including drafts.'),
  nodes: numberOrGap('Nodes of all clusters. Null also if the nodes of one cluster are unknown.'),
  cost: {
    ...exactly({
      currency: { type: ['string', 'null'], description: 'Null also without clusters.' },
      minimum: amountOrGap('With the fewest nodes of all pools. Decimal string.'),
      maximum: amountOrGap('With the most nodes of all pools. Decimal string.'),
    }),
    description:
      'What the nodes of all clusters cost per month, net. Null also if one price is unknown, or prices have several currencies.',
  },
});

export const usageSchema = exactly({
  step: { enum: usageSteps },
  from: { ...time, description: 'Start of the first point.' },
  to: { ...time, description: 'End of the last point.' },
  points: {
    type: 'array',
    maxItems: clusterLimits.usagePointsMax,
    items: usagePointSchema,
    description: 'One for each hour or day, oldest first, without omissions.',
  },
  savedBySleep: {
    type: 'array',
    items: exactly({
      cluster: { ...filled, description: 'Its name.' },
      since: { ...time, description: 'When it was first recorded asleep.' },
      amount: { ...amount, type: 'string', description: 'Decimal string.' },
      currency: filled,
    }),
    description:
      'What clusters have saved while they were hibernated, whatever the range: net, with the fewest nodes, against nodes that always run.',
  },
});
export type UsageBody = FromSchema<typeof usageSchema>;
export type UsagePoint = UsageBody['points'][number];
