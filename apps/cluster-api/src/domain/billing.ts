import {
  activeSubscriptionStates,
  type BillingEvent,
  type BillingOutcome,
  parseTime,
  type StatedSubscription,
  type Subscription,
} from '@corral/contracts';
import { invalidField, notFound } from '../problem.js';
import type { Asking } from './caller.js';

/** What is kept of a team's subscription. */
export interface SubscriptionRecord {
  /** Null: the team has none. */
  readonly body: Subscription | null;
  readonly isActive: boolean;
  /** The billing system's clock. */
  readonly statedAt: Date;
}

/** What news of a subscription need of the store, while their team is locked. */
export interface SubscriptionTransaction {
  readonly now: Date;
  /** Null when nothing was ever stated. */
  readonly current: SubscriptionRecord | null;
  /** Notes an event. @returns false when it was taken before */
  claimEvent(id: string): Promise<boolean>;
  /** With its audit entry. */
  save(subscription: SubscriptionRecord, eventId: string): Promise<void>;
}

export interface SubscriptionStore {
  /**
   * @param team slug or number
   * @returns null when there is no such team
   */
  change<T>(
    team: string | number,
    asking: Asking,
    work: (tx: SubscriptionTransaction) => Promise<T>,
  ): Promise<T | null>;
}

export type BillingService = ReturnType<typeof billingService>;

/** Clocks differ, but not by more. */
const AHEAD_MS_MAX = 300_000;

/** Takes the news of the billing system. */
export const billingService = ({ store }: { readonly store: SubscriptionStore }) => ({
  /**
   * Events come at least once and in any order: one that was taken, or that is older than what is known, changes
   * nothing.
   *
   * @throws Problem `not_found` for a team that is not there (yet): the billing system sends the event again;
   *   `validation_failed`
   */
  async take(event: BillingEvent, asking: Asking): Promise<BillingOutcome> {
    const stated = subscriptionOf(event);
    const outcome = await store.change(event.team, asking, async (tx): Promise<BillingOutcome> => {
      if (stated.statedAt.getTime() > tx.now.getTime() + AHEAD_MS_MAX) {
        // Taken, it would make everything that is stated until then look old.
        throw invalidField('validation_failed', '/stated_at', 'is more than 5 minutes in the future');
      }
      if (!(await tx.claimEvent(event.id))) return 'duplicate';
      if (tx.current !== null && stated.statedAt < tx.current.statedAt) return 'outdated';
      await tx.save(stated, event.id);
      return 'applied';
    });
    if (outcome === null) throw notFound();
    return outcome;
  },
});

/**
 * What an event states, and of it only what customers may see.
 *
 * @throws Problem `validation_failed` for days that no calendar has
 */
function subscriptionOf({ stated_at, subscription, active }: BillingEvent): SubscriptionRecord {
  const statedAt = timeOf('/stated_at', stated_at);
  if (subscription === null) return { body: null, isActive: false, statedAt };
  const isActive = active ?? activeSubscriptionStates.includes(subscription.status);
  return { body: shownSubscription(subscription), isActive, statedAt };
}

/** Field by field: what the billing system adds to its own, internal notes above all, never gets further than this. */
function shownSubscription(stated: StatedSubscription): Subscription {
  const time = (field: 'start_date' | 'current_period_start' | 'current_period_end') =>
    timeOf(`/subscription/${field}`, stated[field]).toISOString();
  return {
    id: stated.id,
    display_name: stated.display_name,
    start_date: time('start_date'),
    billing_interval: stated.billing_interval,
    current_period_start: time('current_period_start'),
    current_period_end: time('current_period_end'),
    cancel_at_period_end: stated.cancel_at_period_end,
    status: stated.status,
    quantity: stated.quantity,
    items: stated.items.map(({ id, price, quantity }) => ({ ...{ id, quantity }, price: shownPrice(price) })),
  };
}

const shownPrice = ({
  id,
  product_name,
  human_readable_price,
  payment_amount,
  unit_amount,
}: StatedSubscription['items'][number]['price']): Subscription['items'][number]['price'] => ({
  ...{ id, product_name, human_readable_price, payment_amount, unit_amount },
});

function timeOf(pointer: string, text: string): Date {
  const time = parseTime(text);
  if (time === null) throw invalidField('validation_failed', pointer, 'must be a valid calendar date');
  return time;
}
