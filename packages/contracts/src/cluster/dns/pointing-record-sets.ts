import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { clusterLimits } from '../limits.js';
import { filled, time } from '../schema-parts.js';

/* Record sets of a team that lead to addresses of its clusters and servers. */

const pointing = {
  zone: filled,
  name: { ...filled, description: 'Relative to the zone.' },
  type: { enum: ['A', 'AAAA', 'CNAME'] },
  values: { type: 'array', minItems: 1, items: filled, description: 'Only the values that lead there.' },
} as const;

const maxItems = clusterLimits.pointingRecordSetsShown;

export const pointingRecordSetsSchema = {
  type: 'array',
  maxItems,
  items: exactly(pointing),
  description:
    'Record sets of the team that lead to what the change takes away: nodes, load balancers or a server, as their addresses were ' +
    'last read. Only those that the caller may read.',
} as const;
export type PointingRecordSet = FromSchema<typeof pointingRecordSetsSchema.items>;

export const danglingRecordSetListSchema = exactly({
  items: {
    type: 'array',
    maxItems,
    items: exactly({
      ...pointing,
      goneAt: { ...time, description: 'When the last of these addresses was found to be gone.' },
      reason: { ...filled, description: 'What had the addresses, and until when, as sentences for people.' },
    }),
  },
});
export type DanglingRecordSetListBody = FromSchema<typeof danglingRecordSetListSchema>;
