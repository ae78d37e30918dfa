import type { FromSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { atLeast, exactly } from '../../schema-objects.js';
import { clusterLimits } from '../limits.js';
import { filled, givenTime, text, time } from '../schema-parts.js';

/** States that count as active unless the billing system says otherwise. */
export const activeSubscriptionStates: readonly string[] = ['active', 'trialing'];

const whole = { type: 'integer' } as const;
const flag = { type: 'boolean' } as const;

const shownPrice = {
  id: filled,
  product_name: text,
  human_readable_price: text,
  payment_amount: text,
  unit_amount: whole,
} as const;

/** The part of a subscription shown to customers, without internals of the billing system. */
export const subscriptionSchema = exactly({
  id: filled,
  display_name: text,
  start_date: time,
  billing_interval: text,
  current_period_start: time,
  current_period_end: time,
  cancel_at_period_end: flag,
  status: filled,
  quantity: whole,
  items: { type: 'array', items: exactly({ id: filled, price: exactly(shownPrice), quantity: whole }) },
});
export type Subscription = FromSchema<typeof subscriptionSchema>;

/*
 * Events from the billing system. The only body that accepts unlisted fields: a third party defines it, and a new field
 * must not block updates. Unlisted fields are ignored.
 */

const word = { type: 'string', minLength: 1, maxLength: clusterLimits.subscriptionTextCharacters } as const;
const phrase = { type: 'string', maxLength: clusterLimits.subscriptionTextCharacters } as const;

const statedPrice = atLeast({
  id: word,
  product_name: phrase,
  human_readable_price: phrase,
  payment_amount: phrase,
  unit_amount: whole,
});

const statedSubscriptionSchema = atLeast({
  id: word,
  display_name: phrase,
  start_date: givenTime,
  billing_interval: phrase,
  current_period_start: givenTime,
  current_period_end: givenTime,
  cancel_at_period_end: flag,
  status: word,
  quantity: whole,
  items: {
    type: 'array',
    maxItems: clusterLimits.subscriptionItemsMax,
    items: atLeast({ id: word, price: statedPrice, quantity: whole }),
  },
});

export const billingEventSchema = {
  type: 'object',
  required: ['id', 'stated_at', 'team', 'subscription'],
  properties: {
    id: { ...word, description: 'Id of the event. An event is processed only once.' },
    stated_at: {
      ...givenTime,
      description:
        'Time of this state by the clock of the billing system. States older than the known one are ignored.',
    },
    team: {
      type: ['string', 'integer'],
      minLength: 1,
      maxLength: 63,
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'Slug or number of the team.',
    },
    subscription: {
      ...statedSubscriptionSchema,
      type: ['object', 'null'],
      description: 'The current subscription; null when the team no longer has one.',
    },
    active: {
      ...flag,
      description: `Whether the subscription is active. Absent: active if its status is ${activeSubscriptionStates.join(' or ')}.`,
    },
  },
} as const;
export type StatedSubscription = FromSchema<typeof statedSubscriptionSchema>;
export interface BillingEvent {
  readonly id: string;
  readonly stated_at: string;
  readonly team: string | number;
  readonly subscription: StatedSubscription | null;
  readonly active?: boolean;
}

export const billingOutcomes = ['applied', 'duplicate', 'outdated'] as const;
/**
 * `duplicate`: processed before. `outdated`: a newer state is known. Neither changes anything, nor needs to be sent
 * again.
 */
export type BillingOutcome = (typeof billingOutcomes)[number];
export const billingOutcomeSchema = exactly({ outcome: { enum: billingOutcomes } });

export const parseBillingEvent = strictParserFor<BillingEvent>(billingEventSchema);
