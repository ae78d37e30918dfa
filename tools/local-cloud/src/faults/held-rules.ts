/** An active rule with a hit count. */
export type HeldRule<R> = R & {
  readonly id: number;
  /** Number of times it took effect. */
  readonly hits: number;
  /** Number of times it may still take effect; null for no limit. */
  readonly remaining: number | null;
};

interface Counted {
  /** Number of times it may take effect; null for no limit. Default 1. */
  readonly times?: number | null;
}

/** Active rules, oldest first. The first match takes effect. */
export class HeldRules<R extends Counted> {
  #held: HeldRule<R>[] = [];
  #nextId = 1;

  /** @param check throws an Error for an invalid rule */
  constructor(private readonly check: (rule: R) => void) {}

  /** @throws Error if a rule does not have the documented form; no rule is added then */
  add(rules: readonly R[]): HeldRule<R>[] {
    for (const rule of rules) {
      const { times = 1 } = rule;
      if (times !== null && !(Number.isInteger(times) && times > 0)) {
        throw new Error('`times` is a positive integer or null.');
      }
      this.check(rule);
    }
    const added = rules.map((rule) => {
      const remaining = rule.times === undefined ? 1 : rule.times;
      return { ...rule, id: this.#nextId++, hits: 0, remaining };
    });
    this.#held.push(...added);
    return added;
  }

  list(): HeldRule<R>[] {
    return [...this.#held];
  }

  clear(): void {
    this.#held = [];
  }

  /** Finds the rule that takes effect and counts the hit. */
  take(fits: (rule: R) => boolean): R | null {
    const index = this.#held.findIndex((rule) => rule.remaining !== 0 && fits(rule));
    const rule = this.#held[index];
    if (rule === undefined) return null;
    const remaining = rule.remaining === null ? null : rule.remaining - 1;
    this.#held[index] = { ...rule, hits: rule.hits + 1, remaining };
    return rule;
  }
}
