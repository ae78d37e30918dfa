import { dnsLimits, type Rrset, type TokenCoverage, writeRefusal } from '@corral/contracts';

/*
 * What has to be done so that record sets become as wanted. Pure: the page shows the plan, and `apply.ts` carries out exactly
 * this plan.
 */

export interface SetRecord {
  readonly value: string;
  readonly comment: string | null;
}

/** The content of a record set. The order of its records says nothing. */
export interface SetContent {
  readonly records: readonly SetRecord[];
  /** Seconds; null for the zone's default. */
  readonly ttl: number | null;
  readonly labels: Readonly<Record<string, string>>;
}

/** A record set as someone wants it. */
export interface WantedSet {
  readonly name: string;
  readonly type: string;
  /** Null: the set shall not exist. Without labels, those of the set stay. */
  readonly content: (Omit<SetContent, 'labels'> & { readonly labels?: SetContent['labels'] }) | null;
  /** The set as it was when this was typed. What somebody else changed since, and this does not, stays. */
  readonly seen?: SetContent | null;
  /** Where it was asked for, such as `line 12`. */
  readonly source?: string;
}

export interface SetChange {
  /** Name and type: `www.acme A`. */
  readonly key: string;
  readonly name: string;
  readonly type: string;
  /** As planned from; null when the set did not exist. */
  readonly from: SetContent | null;
  /** Null: the set is removed. */
  readonly to: SetContent | null;
  readonly source?: string;
  /** Why the API would refuse it. */
  readonly refusal?: string;
}

export interface ChangePlan {
  /**
   * In waves: a wave begins when the one before has ended. Removals come first when they make room for a CNAME or within the
   * quota, and last otherwise.
   */
  readonly waves: readonly (readonly SetChange[])[];
  readonly refused: readonly SetChange[];
  /** How many wanted sets are as wanted already. */
  readonly same: number;
  /** Records of the team afterwards. */
  readonly recordsAfter: number;
  /** Why the plan as a whole does not fit. */
  readonly quotaProblem: string | null;
  /** What the provider will probably refuse. */
  readonly warnings: readonly string[];
}

export interface PlanContext {
  readonly zoneName: string;
  /** The last label of the names of the team. */
  readonly ownerLabel: string;
  /** Of a token that is narrowed. The default is all names, and all types that the API writes. */
  readonly withinName?: string | null;
  readonly withinTypes?: readonly string[];
  readonly records: { readonly used: number; readonly reserved: number; readonly limit: number };
}

export const keyOf = ({ name, type }: { readonly name: string; readonly type: string }): string => `${name} ${type}`;

/** @param rrset as the DNS API answers it */
export const contentOf = ({ records, ttl, labels }: Pick<Rrset, 'records' | 'ttl' | 'labels'>): SetContent => ({
  records: records.map(({ value, comment }) => ({ value, comment: comment || null })),
  ttl,
  labels,
});

export function planChanges(actual: readonly Rrset[], wanted: readonly WantedSet[], context: PlanContext): ChangePlan {
  const existing = new Map(actual.map((rrset) => [keyOf(rrset), contentOf(rrset)]));
  const { ownerLabel, withinName = null, withinTypes = [] } = context;
  const coverage = { ownerLabel, withinName, withinTypes };
  const changes: SetChange[] = [];
  const refused: SetChange[] = [];
  let same = 0;
  const overwritten: string[] = [];
  for (const { name, type, content, seen, source } of wanted) {
    const key = keyOf({ name, type });
    const from = existing.get(key) ?? null;
    const typed = content === null ? null : { ...content, labels: content.labels ?? from?.labels ?? {} };
    const { to, isOverwriting } = mergeOnto(from, seen === undefined ? from : seen, typed);
    if (isOverwriting) overwritten.push(`${key} was changed after you had begun, and this replaces that change.`);
    if (isSame(from, to)) {
      same += 1;
      continue;
    }
    const change: SetChange = { key, name, type, from, to, ...(source === undefined ? {} : { source }) };
    const refusal = refusalOf(change, coverage, context.zoneName);
    if (refusal === null) changes.push(change);
    else refused.push({ ...change, refusal });
  }
  const { waves, warnings } = inWaves(changes, existing, context);
  const recordsAfter = context.records.used + sum(changes.map(growthOf));
  return {
    waves,
    warnings: [...overwritten, ...warnings],
    refused,
    same,
    recordsAfter,
    quotaProblem: quotaProblemOf(changes, context),
  };
}

/**
 * Three ways: parts that were not touched follow what is there now.
 *
 * @returns what is wanted, and whether it undoes a part that somebody else changed meanwhile
 */
function mergeOnto(now: SetContent | null, seen: SetContent | null, typed: SetContent | null) {
  if (isSame(now, seen) || isSame(now, typed)) return { to: typed, isOverwriting: false };
  if (now === null || seen === null || typed === null) return { to: typed, isOverwriting: true };
  let isOverwriting = false;
  const choose = (isEqual: (one: SetContent, other: SetContent) => boolean): SetContent => {
    if (isEqual(typed, seen)) return now;
    isOverwriting ||= !isEqual(now, seen) && !isEqual(now, typed);
    return typed;
  };
  const to = {
    records: choose(hasSameRecords).records,
    ttl: choose((one, other) => one.ttl === other.ttl).ttl,
    labels: choose(hasSameLabels).labels,
  };
  return { to, isOverwriting };
}

/** @returns why the API refuses the change, by the rules of the API; null if it does not */
export function refusalOf(change: SetChange, coverage: TokenCoverage, zoneName: string): string | null {
  const { name, type, from, to } = change;
  const refusal = writeRefusal(coverage, { zoneName, name, type });
  if (refusal !== null || to === null) return refusal;
  const { recordsPerRrset, valueCharacters, commentCharacters } = dnsLimits;
  if (to.records.length === 0) return 'A record set has at least one record. Remove the set instead.';
  if (to.records.length > recordsPerRrset && to.records.length > (from?.records.length ?? 0)) {
    return `${to.records.length} records do not fit: a record set has at most ${recordsPerRrset}.`;
  }
  if (new Set(to.records.map(({ value }) => value)).size < to.records.length) return 'Two records have the same value.';
  for (const { value, comment } of to.records) {
    if (value === '') return 'A value is empty.';
    if (charactersOf(value) > valueCharacters) return `A value has at most ${valueCharacters} characters.`;
    if (charactersOf(comment ?? '') > commentCharacters)
      return `A comment has at most ${commentCharacters} characters.`;
  }
  return null;
}

const charactersOf = (text: string): number => [...text].length;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
const growthOf = ({ from, to }: SetChange): number => (to?.records.length ?? 0) - (from?.records.length ?? 0);

function quotaProblemOf(changes: readonly SetChange[], { records }: PlanContext): string | null {
  const growth = sum(changes.map(growthOf));
  const { used, reserved, limit } = records;
  const over = used + reserved + growth - limit;
  if (growth <= 0 || over <= 0) return null;
  return `${used + reserved} of ${limit} records are used, and this needs ${growth} more. Remove ${over}, or ask an operator.`;
}

/** A name with a CNAME has no other set (RFC 1034 section 3.6.2). */
function inWaves(changes: readonly SetChange[], existing: ReadonlyMap<string, SetContent>, { records }: PlanContext) {
  const [removals, others] = [changes.filter(({ to }) => to === null), changes.filter(({ to }) => to !== null)];
  const goes = new Set(removals.map(({ key }) => key));
  const typesAt = new Map<string, Set<string>>();
  const add = (name: string, type: string) => typesAt.set(name, (typesAt.get(name) ?? new Set()).add(type));
  for (const key of existing.keys()) {
    const [name, type] = key.split(' ') as [string, string];
    if (!goes.has(key)) add(name, type);
  }
  for (const { name, type } of others) add(name, type);
  const warnings = [...typesAt].flatMap(([name, types]) => {
    if (!types.has('CNAME') || types.size === 1 || !others.some((change) => change.name === name)) return [];
    const beside = [...types].filter((type) => type !== 'CNAME').join(' and ');
    return [`A CNAME stands alone, but ${name} would have ${beside} records too. Remove one of them.`];
  });
  const needsRoom = records.used + records.reserved + sum(others.map(growthOf)) > records.limit;
  const makesRoom = ({ name, type }: SetChange): boolean =>
    needsRoom || others.some((other) => other.name === name && (other.type === 'CNAME' || type === 'CNAME'));
  const waves = [removals.filter(makesRoom), others, removals.filter((removal) => !makesRoom(removal))];
  return { waves: waves.filter((wave) => wave.length > 0), warnings };
}

export function isSame(one: SetContent | null, other: SetContent | null): boolean {
  if (one === null || other === null) return one === other;
  return hasSameRecords(one, other) && one.ttl === other.ttl && hasSameLabels(one, other);
}

export function hasSameRecords(one: SetContent, other: SetContent): boolean {
  const textOf = ({ records }: SetContent) =>
    records.map(({ value, comment }) => JSON.stringify([value, comment])).sort();
  return one.records.length === other.records.length && textOf(one).join('\n') === textOf(other).join('\n');
}

export function hasSameLabels({ labels: one }: SetContent, { labels: other }: SetContent): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** What undoes the changes: the sets as they were before. */
export const wayBack = (changes: readonly SetChange[]): WantedSet[] =>
  changes.map(({ name, type, from }) => ({ name, type, content: from }));
