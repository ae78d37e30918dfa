import type { BillingEvent, BillingOutcome } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import {
  type Delivery,
  findBillingContradictions,
  type ShownSubscription,
} from '../../support/cluster-crashes/judge-billing.js';
import type { RowChange } from '../../support/clusters/row-history.js';

/** The judge of the billing webhook in the crash test must detect each kind of fault. */

const minutes = (number: number): string => `2026-11-21T10:0${number}:00.000Z`;
const event = (number: number, changes: object = {}): BillingEvent =>
  ({
    id: `evt_${number}`,
    stated_at: minutes(number),
    team: 'acme',
    subscription: { status: 'active', quantity: number },
    ...changes,
  }) as BillingEvent;
const delivered = (of: BillingEvent, outcome: BillingOutcome, tries = 1): Delivery => ({ event: of, outcome, tries });

const history = (...rows: [table: string, row: object][]): RowChange[] =>
  rows.map(([table, row], index) => ({ table, row, seq: index, transaction: '1', kind: 'INSERT' }));
const noted = (...numbers: number[]) =>
  numbers.map((number): [string, object] => ['billing_event', { id: `evt_${number}` }]);
const applied = (...numbers: number[]) =>
  numbers.map((number, index): [string, object] => [
    'audit_entry',
    { id: index, action: 'subscription.state', detail: { eventId: `evt_${number}`, statedAt: minutes(number) } },
  ]);

const sees = (number: number, changes: Partial<ShownSubscription> = {}): ShownSubscription => ({
  team: 'acme',
  isActive: true,
  status: 'active',
  quantity: number,
  ...changes,
});
const [first, second] = [event(1), event(2)];
const inOrder = [delivered(first, 'applied'), delivered(second, 'applied')];
const all = history(...noted(1, 2), ...applied(1, 2));

describe('the judge reports', () => {
  it.each<[string, Delivery[], RowChange[], ShownSubscription, RegExp]>([
    [
      'an event that was applied twice',
      inOrder,
      history(...noted(1, 2), ...applied(1, 2, 2)),
      sees(2),
      /applied 2 times/,
    ],
    ['an event that was accepted twice', [...inOrder, delivered(first, 'outdated')], all, sees(2), /taken 2 times/],
    ['an event that is not recorded', inOrder, history(...noted(1), ...applied(1, 2)), sees(2), /noted 0 times/],
    [
      'an event that was never accepted',
      [delivered(first, 'applied'), delivered(second, 'duplicate')],
      history(...noted(1, 2), ...applied(1)),
      sees(2),
      /duplicate of nothing/,
    ],
    [
      'an event that was answered as applied, but was not',
      inOrder,
      history(...noted(1, 2), ...applied(1)),
      sees(2),
      /applied 0 times/,
    ],
    [
      'a step back to an older event',
      inOrder,
      history(...noted(1, 2), ...applied(2, 1)),
      sees(2),
      /went back from event evt_2/,
    ],
    ['an older state', inOrder, all, sees(1), /but the newest event evt_2/],
    ['a state that is wrong about being active', inOrder, all, sees(2, { isActive: false }), /newest event/],
    ['a team that sees no subscription', inOrder, all, sees(2, { team: 'globex' }), /newest event/],
  ])('%s', (_case, deliveries, changes, shown, problem) => {
    expect(findBillingContradictions(changes, { deliveries, shown: [shown] }).join('\n')).toMatch(problem);
  });
});
