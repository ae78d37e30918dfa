/**
 * Who is next among flows that wait: start-time fair queueing (Goyal, Vin and Cheng, 1996). Each round has one call of each
 * flow that waits. A flow that had its call is in the next round; one that comes, or comes back, is in the present one.
 * So a flow that was alone owes nobody anything, and one that was idle has saved up nothing.
 */
export interface FairOrder {
  /** The round that calls are made in now. */
  readonly round: number;
  /** The round of the next call of each flow that is ahead of the present one. */
  readonly next: Readonly<Record<string, number>>;
}

export const newOrder: FairOrder = { round: 0, next: {} };

/** How many rounds have to pass until a flow's next call. */
export const leadOf = ({ round, next }: FairOrder, flow: string): number => Math.max(0, (next[flow] ?? 0) - round);

/** The flow has its turn by this order: the present round is that of its call. */
export function takeTurn(order: FairOrder, flow: string): FairOrder {
  const round = order.round + leadOf(order, flow);
  return startRound({ round, next: { ...order.next, [flow]: round + 1 } });
}

/** Flows made calls that were not given by this order, while others may have been waiting. */
export function chargeCalls(order: FairOrder, calls: Readonly<Record<string, number>>): FairOrder {
  const next = { ...order.next };
  for (const [flow, count] of Object.entries(calls)) next[flow] = order.round + leadOf(order, flow) + count;
  return startRound({ ...order, next });
}

/** Flows made calls while nobody waited: only that counts who had the last one. */
export function chargeFreeCalls(order: FairOrder, calls: Readonly<Record<string, number>>): FairOrder {
  const charged = chargeCalls(order, calls);
  const round = Math.max(order.round, ...Object.keys(calls).map((flow) => (charged.next[flow] ?? 0) - 1));
  return startRound({ ...charged, round });
}

/** Forgets who is not ahead. */
function startRound({ round, next }: FairOrder): FairOrder {
  return { round, next: Object.fromEntries(Object.entries(next).filter(([, of]) => of > round)) };
}
