/** A write that freed records, which count as used until its action has succeeded. */
export interface HoldingWrite {
  readonly zoneId: bigint;
  readonly name: string;
  readonly type: string;
  /** Set if its set must be read again. */
  readonly recheckAt: Date | null;
  /** Its action, if it is known. */
  readonly actions: readonly { readonly status: string }[];
}

/**
 * The writes whose freed records are free now. The upstream applies writes to a set in order, so the result of a write depends on the
 * earlier ones: a write with an action that runs or has failed, or that contradicted the mirror, keeps the records of all that follow it,
 * until the set has been read again.
 *
 * @param writes all that hold records of their sets, the earliest first
 */
export function releasable<W extends HoldingWrite>(writes: readonly W[]): W[] {
  const bySet = Map.groupBy(writes, ({ zoneId, name, type }) => `${zoneId}/${name}/${type}`);
  return [...bySet.values()].flatMap((ofSet) => {
    const first = ofSet.findIndex(isUncertain);
    return first === -1 ? ofSet : ofSet.slice(0, first);
  });
}

const isUncertain = ({ actions, recheckAt }: HoldingWrite): boolean =>
  actions.some(({ status }) => status !== 'success' || recheckAt !== null);
