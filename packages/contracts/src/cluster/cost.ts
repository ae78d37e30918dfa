import type { FromSchema } from 'json-schema-to-ts';
import { count, exactly, text } from './schema-parts.js';

/** A decimal string, so that no client rounds money; null when the price is not known. */
const amount = { type: ['string', 'null'], pattern: '^\\d+(\\.\\d+)?$' } as const;
/** As an amount, below zero where something is saved. */
const difference = { type: ['string', 'null'], pattern: '^-?\\d+(\\.\\d+)?$' } as const;

const range = exactly({ minimum: amount, maximum: amount });
const rangeOfDifferences = exactly({ minimum: difference, maximum: difference });

/** What the nodes of a cluster cost, net, by the provider's own price list. */
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
  pricedAt: { type: ['string', 'null'], description: 'When these prices were first read. They are checked daily.' },
});

export const costDifferenceSchema = {
  ...exactly({ hourly: rangeOfDifferences, monthly: rangeOfDifferences }),
  description: 'What the change adds to the current cost; negative if it saves. `null` if either cost is unknown.',
} as const;

export type Cost = FromSchema<typeof costSchema>;
export type CostDifference = FromSchema<typeof costDifferenceSchema>;
