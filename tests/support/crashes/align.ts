export interface Alignment<One, Other> {
  /** Whether both describe the same event. */
  fits(one: One, other: Other): boolean;
  /** Whether an item of the other side is right even without a partner on the first side. */
  mayBeAlone(other: Other): boolean;
}

export interface Misfits<One, Other> {
  readonly ones: readonly One[];
  readonly others: readonly Other[];
}

/**
 * Compares two accounts of the same events. Both are in order, so that an event of one matches at most one event of the
 * other, and no two pairs cross.
 *
 * @returns the smallest set of events without a match. If there are several, the pairs are as early as possible
 */
export function findMisfits<One, Other>(
  ones: readonly One[],
  others: readonly Other[],
  { fits, mayBeAlone }: Alignment<One, Other>,
): Misfits<One, Other> {
  const width = others.length + 1;
  const aloneCosts = others.map((other) => (mayBeAlone(other) ? 0 : 1));
  /** The smallest number of misfits after each pair of positions. */
  const fewest = new Uint32Array((ones.length + 1) * width);
  const at = (row: number, column: number): number => fewest[row * width + column] as number;
  const ifPaired = (row: number, column: number): number =>
    fits(ones[row] as One, others[column] as Other) ? at(row + 1, column + 1) : Number.POSITIVE_INFINITY;
  const ifOtherAlone = (row: number, column: number): number => at(row, column + 1) + (aloneCosts[column] as number);
  for (let row = ones.length; row >= 0; row -= 1) {
    for (let column = others.length; column >= 0; column -= 1) {
      if (row === ones.length && column === others.length) continue;
      const choices = [
        row < ones.length ? at(row + 1, column) + 1 : Number.POSITIVE_INFINITY,
        column < others.length ? ifOtherAlone(row, column) : Number.POSITIVE_INFINITY,
        row < ones.length && column < others.length ? ifPaired(row, column) : Number.POSITIVE_INFINITY,
      ];
      fewest[row * width + column] = Math.min(...choices);
    }
  }
  const misfits = { ones: [] as One[], others: [] as Other[] };
  for (let [row, column] = [0, 0]; row < ones.length || column < others.length; ) {
    const least = at(row, column);
    const [one, other] = [ones[row], others[column]];
    if (one !== undefined && other !== undefined && ifPaired(row, column) === least) {
      row += 1;
      column += 1;
    } else if (other !== undefined && ifOtherAlone(row, column) === least) {
      if (aloneCosts[column] === 1) misfits.others.push(other);
      column += 1;
    } else {
      misfits.ones.push(one as One);
      row += 1;
    }
  }
  return misfits;
}
