import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { amount, count, optionalTime, text } from '../schema-parts.js';

/** A signed amount; negative for savings. */
const difference = { type: ['string', 'null'], pattern: '^-?\\d+(\\.\\d+)?$' } as const;

const range = exactly({ minimum: amount, maximum: amount });
const rangeOfDifferences = exactly({ minimum: difference, maximum: difference });

/** Net cost of a cluster's nodes according to the provider's price list. */
export const costSchema = exactly({
  currency: { type: ['string', 'null'] },
  hourly: range,
  monthly: range,
  items: {
    type: 'array',
    items: exactly({
      kind: { enum: ['nodePool'] },
      name: text,
      machineType: text,
      minimum: count,
      maximum: count,
      hourly: range,
      monthly: range,
      reason: { type: ['string', 'null'], description: 'Why the price is unknown, or why there is no charge.' },
    }),
  },
  pricedAt: { ...optionalTime, description: 'When these prices were first read. They are checked daily.' },
});

export const costDifferenceSchema = {
  ...exactly({ hourly: rangeOfDifferences, monthly: rangeOfDifferences }),
  description: 'What the change adds to the current cost; negative if it saves. `null` if either cost is unknown.',
} as const;

export type Cost = FromSchema<typeof costSchema>;
export type CostDifference = FromSchema<typeof costDifferenceSchema>;
