import {
  activeSubscriptionStates,
  type BillingEvent,
  type BillingOutcome,
  parseTime,
  type StatedSubscription,
  type Subscription,
} from '@corral/contracts';
import type { RequestContext } from '../changes/caller.js';
import { invalidField, notFound } from '../problem.js';

/** The stored state of a team's subscription. */
export interface SubscriptionRecord {
  /** Null when the team has no subscription. */
  readonly body: Subscription | null;
  readonly isActive: boolean;
  /** By the billing system's clock. */
  readonly statedAt: Date;
}

/** What a billing event needs from the store. The team is locked meanwhile. */
export interface SubscriptionTransaction {
  readonly now: Date;
  /** Null before the first event. */
  readonly current: SubscriptionRecord | null;
  /** Stores the event's id. @returns false when the event was already processed */
  registerEvent(id: string): Promise<boolean>;
  /** Also writes an audit entry. */
  save(subscription: SubscriptionRecord, eventId: string): Promise<void>;
}

export interface SubscriptionStore {
  /**
   * @param team the team's slug or number
   * @returns null when there is no such team
   */
  change<T>(
    team: string | number,
    request: RequestContext,
    work: (tx: SubscriptionTransaction) => Promise<T>,
  ): Promise<T | null>;
}

export type BillingService = ReturnType<typeof billingService>;

/** Largest tolerated clock difference in ms. */
const AHEAD_MS_MAX = 300_000;

/** Processes events of the billing system. */
export const billingService = ({ store }: { readonly store: SubscriptionStore }) => ({
  /**
   * Events arrive at least once and in any order. Duplicates and events older than the stored state change nothing.
   *
   * @throws Problem `not_found` for a team that does not exist yet: the billing system sends the event again;
   *   `validation_failed`
   */
  async take(event: BillingEvent, request: RequestContext): Promise<BillingOutcome> {
    const stated = subscriptionOf(event);
    const outcome = await store.change(event.team, request, async (tx): Promise<BillingOutcome> => {
      if (stated.statedAt.getTime() > tx.now.getTime() + AHEAD_MS_MAX) {
        // Once stored, it would make all real events until then look outdated.
        throw invalidField('validation_failed', '/stated_at', 'is more than 5 minutes in the future');
      }
      if (!(await tx.registerEvent(event.id))) return 'duplicate';
      if (tx.current !== null && stated.statedAt < tx.current.statedAt) return 'outdated';
      await tx.save(stated, event.id);
      return 'applied';
    });
    if (outcome === null) throw notFound();
    return outcome;
  },
});

/**
 * Maps an event to the stored state.
 *
 * @throws Problem `validation_failed` for impossible dates
 */
function subscriptionOf({ stated_at, subscription, active }: BillingEvent): SubscriptionRecord {
  const statedAt = timeOf('/stated_at', stated_at);
  if (subscription === null) return { body: null, isActive: false, statedAt };
  const isActive = active ?? activeSubscriptionStates.includes(subscription.status);
  return { body: shownSubscription(subscription), isActive, statedAt };
}

/**
 * Copies field by field, so that further fields of the billing system, such as internal notes, never reach customers.
 */
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
    items: stated.items.map(({ id, price, quantity }) => ({ id, quantity, price: shownPrice(price) })),
  };
}

const shownPrice = ({
  id,
  product_name,
  human_readable_price,
  payment_amount,
  unit_amount,
}: StatedSubscription['items'][number]['price']): Subscription['items'][number]['price'] => ({
  id,
  product_name,
  human_readable_price,
  payment_amount,
  unit_amount,
});

function timeOf(pointer: string, text: string): Date {
  const time = parseTime(text);
  if (time === null) throw invalidField('validation_failed', pointer, 'must be a valid calendar date');
  return time;
}
