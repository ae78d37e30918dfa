import { isDeepStrictEqual } from 'node:util';
import type { BillingEvent, BillingOutcome } from '@corral/contracts';
import type { RowChange } from '../clusters/row-history.js';
import { groupBy, pairs } from '../crashes/group-by.js';
import { changesOf } from './judge-rows.js';

/** One answer to an event that the billing system sent. There is one for each delivery. */
export interface Delivery {
  readonly event: BillingEvent;
  readonly outcome: BillingOutcome;
  /** From 2 on, an earlier copy may have been accepted without an answer. */
  readonly tries: number;
}

/** The subscription that a team sees. */
export interface ShownSubscription {
  readonly team: string;
  readonly isActive: boolean;
  /** Null if the team has none. */
  readonly status: string | null;
  readonly quantity: number | null;
}

interface StateRow {
  readonly id: number;
  readonly action: string;
  readonly detail: { readonly eventId: string; readonly statedAt: string };
}

/** Each event is accepted once, none restores an older state, and teams see the state of the newest event. */
export function findBillingContradictions(
  changes: readonly RowChange[],
  { deliveries, shown }: { readonly deliveries: readonly Delivery[]; readonly shown: readonly ShownSubscription[] },
): string[] {
  const taken = takenEvents(changes);
  const noted = groupBy(changesOf<{ id: string }>(changes, 'billing_event'), ({ row }) => row.id);
  const byEvent = [...groupBy(deliveries, ({ event }) => event.id)];
  const byTeam = groupBy(deliveries, ({ event }) => String(event.team));
  return [
    ...byEvent
      .filter(([id]) => noted.get(id)?.length !== 1)
      .map(([id]) => `event ${id} is noted ${noted.get(id)?.length ?? 0} times`),
    ...byEvent.flatMap(([id, same]) => differencesOf(same, taken.get(id)?.length ?? 0)),
    ...[...byTeam].flatMap(([team, own]) => [
      ...findSetbacks(own, taken).map((setback) => `${team} ${setback}`),
      ...differencesShown(
        own,
        shown.find((each) => each.team === team),
      ).map((difference) => `${team} ${difference}`),
    ]),
  ];
}

const takenEvents = (changes: readonly RowChange[]): ReadonlyMap<string, StateRow[]> => {
  const inserted = changesOf<StateRow>(changes, 'audit_entry').filter(({ kind }) => kind === 'INSERT');
  const states = inserted.map(({ row }) => row).filter(({ action }) => action === 'subscription.state');
  return groupBy(states, ({ detail }) => detail.eventId);
};

/** @param applied how often the event was applied according to the audit log */
function differencesOf(same: readonly Delivery[], applied: number): string[] {
  const { id } = (same[0] as Delivery).event;
  const outcomes = same.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'duplicate');
  const mayBeUnanswered = same.some(({ tries }) => tries > 1);
  return [
    ...(applied > 1 ? [`event ${id} was applied ${applied} times`] : []),
    ...(outcomes.length > 1 ? [`event ${id} was taken ${outcomes.length} times: ${outcomes.join(', ')}`] : []),
    ...(outcomes.length === 0 && !mayBeUnanswered ? [`event ${id} was a duplicate of nothing`] : []),
    ...(outcomes[0] !== undefined && (outcomes[0] === 'applied') !== (applied === 1)
      ? [`event ${id} was answered ${outcomes[0]}, and applied ${applied} times`]
      : []),
  ];
}

/** In the order of the audit log, which is the order of the lock of the team. */
function findSetbacks(own: readonly Delivery[], taken: ReadonlyMap<string, StateRow[]>): string[] {
  const ids = new Set(own.map(({ event }) => event.id));
  const applied = [...taken].flatMap(([id, rows]) => (ids.has(id) ? rows : [])).sort((a, b) => a.id - b.id);
  return pairs(applied)
    .filter(([before, after]) => after.detail.statedAt < before.detail.statedAt)
    .map(([before, after]) => `went back from event ${before.detail.eventId} to ${after.detail.eventId}`);
}

function differencesShown(own: readonly Delivery[], shown: ShownSubscription | undefined): string[] {
  const { event } = own.reduce((newest, each) => (each.event.stated_at > newest.event.stated_at ? each : newest));
  const { team, subscription, active } = event;
  const wanted: ShownSubscription = {
    team: String(team),
    isActive: subscription !== null && (active ?? ['active', 'trialing'].includes(subscription.status)),
    status: subscription?.status ?? null,
    quantity: subscription?.quantity ?? null,
  };
  if (isDeepStrictEqual(shown, wanted)) return [];
  return [`sees ${JSON.stringify(shown)}, but the newest event ${event.id} stated ${JSON.stringify(wanted)}`];
}
