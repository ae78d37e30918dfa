import {
  activeSubscriptionStates,
  type BillingEvent,
  type BillingOutcome,
  parseTime,
  type StatedSubscription,
  type Subscription,
} from '@corral/contracts';
import { recordAudit } from '../audit/record-audit.js';
import type { RequestContext } from '../changes/caller.js';
import { found, invalidField } from '../problem.js';
import type { Services } from '../services.js';
import { findSubscription, findTeam, registerEvent, type SubscriptionRecord, saveSubscription } from './store.js';

/** Largest tolerated clock difference in ms. */
const AHEAD_MS_MAX = 300_000;

/**
 * Processes an event of the billing system. Events arrive at least once and in any order. Duplicates and events older than the stored
 * state change nothing.
 *
 * @throws Problem `not_found` for a team that does not exist yet: the billing system sends the event again;
 *   `validation_failed`
 */
export async function takeBillingEvent(
  { prisma, changeTeam }: Services,
  event: BillingEvent,
  request: RequestContext,
): Promise<BillingOutcome> {
  const stated = subscriptionOf(event);
  const team = found(await findTeam(prisma, event.team));
  return changeTeam({ team, scope: request.scope }, async (tx, now) => {
    if (stated.statedAt.getTime() > now.getTime() + AHEAD_MS_MAX) {
      // Once stored, it would make all real events until then look outdated.
      throw invalidField('validation_failed', '/stated_at', 'is more than 5 minutes in the future');
    }
    if (!(await registerEvent(tx, event.id, now))) return 'duplicate';
    const current = await findSubscription(tx, team.id);
    if (current !== null && stated.statedAt < current.statedAt) return 'outdated';
    await saveSubscription(tx, team.id, stated, now);
    await recordAudit(
      tx,
      { userId: null, team, requestId: request.requestId },
      {
        action: 'subscription.state',
        target: { kind: 'Subscription', id: team.id, name: stated.body?.id ?? '' },
        detail: {
          eventId: event.id,
          status: stated.body?.status ?? null,
          isActive: stated.isActive,
          statedAt: stated.statedAt.toISOString(),
        },
      },
    );
    return 'applied';
  });
}

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

function shownPrice(price: StatedSubscription['items'][number]['price']): Subscription['items'][number]['price'] {
  const { id, product_name, human_readable_price, payment_amount, unit_amount } = price;
  return { id, product_name, human_readable_price, payment_amount, unit_amount };
}

function timeOf(pointer: string, text: string): Date {
  const time = parseTime(text);
  if (time === null) throw invalidField('validation_failed', pointer, 'must be a valid calendar date');
  return time;
}
