interface Entry {
  readonly id: string;
  readonly outcome: string;
}

const REMEMBERED_MAX = 10_000;

/** Leaves out what was given before, unless its outcome is another one now. Remembers the newest ten thousand. */
export function newEntries(): <E extends Entry>(entries: readonly E[]) => E[] {
  const outcomes = new Map<string, string>();
  return (entries) =>
    entries.filter(({ id, outcome }) => {
      const isNew = outcomes.get(id) !== outcome;
      outcomes.delete(id);
      outcomes.set(id, outcome);
      if (outcomes.size > REMEMBERED_MAX) outcomes.delete(outcomes.keys().next().value as string);
      return isNew;
    });
}
