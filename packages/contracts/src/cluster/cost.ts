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
      reason: { type: ['string', 'null'], description: 'Why the price is not known, or why there is none to pay.' },
    }),
  },
  pricedAt: { type: ['string', 'null'], description: 'When these prices were first read. They are compared daily.' },
});

export const costDifferenceSchema = {
  ...exactly({ hourly: rangeOfDifferences, monthly: rangeOfDifferences }),
  description: 'What the change adds to the present cost; below zero, what it saves. `null` where either is not known.',
} as const;

export type Cost = FromSchema<typeof costSchema>;
export type CostDifference = FromSchema<typeof costDifferenceSchema>;
