/*
 * Taking back changes of something that others may have changed since. It is compared part by part, so what the changes did not
 * touch stays as it is, and a repeated or interrupted undo goes on where it was.
 */

/** Something by its parts; null when it does not exist. */
export type Thing = Readonly<Record<string, unknown>> | null;

export interface Step {
  readonly before: Thing;
  readonly after: Thing;
}

export interface SteppedBack {
  readonly to: Thing;
  /** Parts that were changed again since, and that this takes back all the same. `''`: that it exists, or does not. */
  readonly overwrites: readonly string[];
}

/** Takes back steps, from the newest to the oldest. */
export function stepBack(now: Thing, newestFirst: readonly Step[]): SteppedBack {
  let to = now;
  const again = new Set<string>();
  for (const step of newestFirst) to = oneStep(to, step, again);
  // What is as before already is not taken back from anybody.
  const overwrites = [...again].filter((part) =>
    part === '' || now === null || to === null ? !isEqual(now, to) : !isEqual(now[part], to[part]),
  );
  return { to, overwrites };
}

function oneStep(now: Thing, { before, after }: Step, again: Set<string>): Thing {
  if (isEqual(before, after)) return now;
  if (isEqual(now, after) || isEqual(now, before)) return before;
  if (now === null || after === null || before === null) {
    again.add('');
    return before;
  }
  const to: Record<string, unknown> = { ...now };
  for (const part of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (isEqual(before[part], after[part])) continue;
    if (!isEqual(now[part], after[part]) && !isEqual(now[part], before[part])) again.add(part);
    if (before[part] === undefined) delete to[part];
    else to[part] = before[part];
  }
  return to;
}

/** Whether two values of JSON are the same. The order of members says nothing; undefined is absent. */
export const isEqual = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other);

const textOf = (value: unknown): string | undefined =>
  JSON.stringify(value, (_name, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
