import {
  dnsLimits,
  type Rrset,
  recordsOver,
  type TokenCoverage,
  ttlRefusal,
  valueRefusal,
  writeRefusal,
} from '@corral/contracts';

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
  /** The place where it was asked for, such as `line 12`. */
  readonly source?: string;
}

export interface SetChange {
  /** Name and type: `www.acme A`. */
  readonly key: string;
  readonly name: string;
  readonly type: string;
  /** The content that was planned from; null when the set did not exist. */
  readonly from: SetContent | null;
  /** Null: the set is removed. */
  readonly to: SetContent | null;
  readonly source?: string;
  /** Why the API would refuse it. */
  readonly refusal?: string;
}

export interface ChangePlan {
  /**
   * Changes in waves: a wave begins when the one before has ended, and removals only when everything before them was written. So
   * removals come last, except for those that a CNAME or the quota waits for: these come after what needs no room.
   */
  readonly waves: readonly (readonly SetChange[])[];
  readonly refused: readonly SetChange[];
  /** How many wanted sets are as wanted already. */
  readonly same: number;
  /** Records of the team afterwards. */
  readonly recordsAfter: number;
  /** Why the plan as a whole does not fit. */
  readonly quotaProblem: string | null;
  /** Sentences about what this replaces although somebody else changed it meanwhile. */
  readonly warnings: readonly string[];
}

export interface PlanContext {
  readonly zoneName: string;
  /** The last label of the names of the team. */
  readonly ownerLabel: string;
  /** The narrowing of the token. The default is all names, and all types that the API writes. */
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
  const coverage = coverageOf(context);
  const all: SetChange[] = [];
  const overwritten: string[] = [];
  for (const { name, type, content, seen, source } of wanted) {
    const key = keyOf({ name, type });
    const from = existing.get(key) ?? null;
    const typed = content === null ? null : { ...content, labels: content.labels ?? from?.labels ?? {} };
    const { to, isOverwriting } = mergeOnto(from, seen === undefined ? from : seen, typed);
    if (isOverwriting) overwritten.push(`${key} was changed after you began, and this replaces that change.`);
    if (!isSame(from, to)) all.push({ key, name, type, from, to, ...(source === undefined ? {} : { source }) });
  }
  const refusals = refusalsOf(
    all,
    existing.keys(),
    (change) => problemsOf(change, coverage, context.zoneName)[0]?.text ?? null,
  );
  const changes = all.filter(({ key }) => !refusals.has(key));
  return {
    waves: inWaves(changes, context),
    warnings: overwritten,
    refused: all.flatMap((change) => {
      const refusal = refusals.get(change.key);
      return refusal === undefined ? [] : [{ ...change, refusal }];
    }),
    same: wanted.length - all.length,
    recordsAfter: context.records.used + sum(changes.map(growthOf)),
    quotaProblem: quotaProblemOf(changes, context),
  };
}

/** Why changes are refused, by their key: alone, beside a CNAME, or as removals at a name that would lose more than was asked. */
function refusalsOf(
  changes: readonly SetChange[],
  existing: Iterable<string>,
  refusalAlone: (change: SetChange) => string | null,
): ReadonlyMap<string, string> {
  const refusals = new Map<string, string>();
  const keepWhereRefused = () => {
    const refusedWrites = changes.filter(({ key, to }) => to !== null && refusals.has(key));
    const refusedAt = new Map(refusedWrites.map(({ name, key }) => [name, key]));
    for (const { key, name, to } of changes) {
      const refused = refusedAt.get(name);
      if (to === null && refused !== undefined && !refusals.has(key)) {
        refusals.set(key, `It stays, because ${refused} is refused.`);
      }
    }
  };
  for (const change of changes) {
    const refusal = refusalAlone(change);
    if (refusal !== null) refusals.set(change.key, refusal);
  }
  keepWhereRefused();
  const left = changes.filter(({ key }) => !refusals.has(key));
  for (const [key, refusal] of cnameRefusals(left, existing)) refusals.set(key, refusal);
  keepWhereRefused();
  return refusals;
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

export const coverageOf = ({ ownerLabel, withinName = null, withinTypes = [] }: PlanContext): TokenCoverage => ({
  ownerLabel,
  withinName,
  withinTypes,
});

/** The sets that a token can write. */
export function writableSets(actual: readonly Rrset[], context: PlanContext): Rrset[] {
  const [coverage, { zoneName }] = [coverageOf(context), context];
  return actual.filter(({ name, type }) => writeRefusal(coverage, { zoneName, name, type }) === null);
}

/** A rule of the API that a set would break, and where: at its name, its TTL, its records, or one of them by its place. */
export interface SetProblem {
  readonly at: 'name' | 'ttl' | 'records' | number;
  readonly text: string;
}

/** @returns why the API refuses the change, by the rules of the API; empty if it does not */
export function problemsOf(change: SetChange, coverage: TokenCoverage, zoneName: string): SetProblem[] {
  const { name, type, from, to } = change;
  const ofName = writeRefusal(coverage, { zoneName, name, type });
  if (to === null) return ofName === null ? [] : [{ at: 'name', text: ofName }];
  const ofTtl = to.ttl === from?.ttl ? null : ttlRefusal(to.ttl);
  return [
    ...(ofName === null ? [] : [{ at: 'name' as const, text: ofName }]),
    ...(ofTtl === null ? [] : [{ at: 'ttl' as const, text: ofTtl }]),
    ...recordsProblems(change, to.records),
  ];
}

/** What a set has already was accepted once. */
function recordsProblems({ type, from }: SetChange, records: SetContent['records']): SetProblem[] {
  const known = new Set(from?.records.map(({ value }) => value));
  const values = records.map(({ value }) => value);
  const ofAll = countRefusal(type, records.length, from?.records.length ?? 0);
  return [
    ...(ofAll === null ? [] : [{ at: 'records' as const, text: ofAll }]),
    ...records.flatMap((record, at) => {
      const isTwice = values.indexOf(record.value) < at;
      const text = isTwice ? 'Two records have the same value.' : recordRefusal(type, record, known.has(record.value));
      return text === null ? [] : [{ at, text }];
    }),
  ];
}

function countRefusal(type: string, count: number, before: number): string | null {
  const { recordsPerRrset } = dnsLimits;
  if (count === 0) return 'A record set needs at least one record. Remove the set instead.';
  if (recordsOver(count - before, before, recordsPerRrset) > 0) {
    return `${count} records do not fit: a record set has at most ${recordsPerRrset}.`;
  }
  return type === 'CNAME' && count > 1 ? 'A CNAME has one value.' : null;
}

function recordRefusal(type: string, { value, comment }: SetRecord, isKnown: boolean): string | null {
  const { valueCharacters, commentCharacters } = dnsLimits;
  if (value === '') return 'A value is empty.';
  if (charactersOf(value) > valueCharacters) return `A value has at most ${valueCharacters} characters.`;
  if (charactersOf(comment ?? '') > commentCharacters) return `A comment has at most ${commentCharacters} characters.`;
  return isKnown ? null : valueRefusal(type, value);
}

const charactersOf = (text: string): number => [...text].length;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
const growthOf = ({ from, to }: SetChange): number => (to?.records.length ?? 0) - (from?.records.length ?? 0);

function quotaProblemOf(changes: readonly SetChange[], { records }: PlanContext): string | null {
  const growth = sum(changes.map(growthOf));
  const { used, reserved, limit } = records;
  const over = recordsOver(growth, used + reserved, limit);
  if (over === 0) return null;
  return `${used + reserved} of ${limit} records are used, and this needs ${growth} more. Remove ${over}, or ask an operator.`;
}

/** A name with a CNAME has no other set (RFC 1034 section 3.6.2). @returns why sets cannot be created, by their key */
function cnameRefusals(changes: readonly SetChange[], existing: Iterable<string>): ReadonlyMap<string, string> {
  const typesAt = new Map<string, Set<string>>();
  const add = (name: string, type: string) => typesAt.set(name, (typesAt.get(name) ?? new Set()).add(type));
  const goes = new Set(changes.filter(({ to }) => to === null).map(({ key }) => key));
  for (const key of existing) {
    const [name, type] = key.split(' ') as [string, string];
    if (!goes.has(key)) add(name, type);
  }
  for (const { name, type, to } of changes) if (to !== null) add(name, type);
  const refusals = new Map<string, string>();
  for (const { key, name, from, to } of changes) {
    const types = [...(typesAt.get(name) ?? [])].sort();
    if (from !== null || to === null || types.length < 2 || !types.includes('CNAME')) continue;
    const beside = types.filter((type) => type !== 'CNAME').join(' and ');
    refusals.set(key, `A CNAME stands alone, but ${name} would have ${beside} records too. Remove one of them.`);
  }
  return refusals;
}

function inWaves(changes: readonly SetChange[], { records }: PlanContext): SetChange[][] {
  const [removals, writes] = [changes.filter(({ to }) => to === null), changes.filter(({ to }) => to !== null)];
  const namesOf = (some: readonly SetChange[]) => new Set(some.map(({ name }) => name));
  const [withCname, losing] = [namesOf(changes.filter(({ type }) => type === 'CNAME')), namesOf(removals)];
  const growing = namesOf(writes.filter(({ from }) => from === null));
  const isSwapped = ({ name }: SetChange): boolean => withCname.has(name) && losing.has(name) && growing.has(name);
  let free = records.limit - records.used - records.reserved;
  const needsAllRoom = sum([...writes, ...removals.filter(isSwapped)].map(growthOf)) > free;
  const isLate = (write: SetChange): boolean => {
    const growth = Math.max(0, growthOf(write));
    if (isSwapped(write) || (growth > 0 && growth > free)) return true;
    free -= growth;
    return false;
  };
  const late = new Set(writes.filter(isLate));
  const waves = [
    writes.filter((write) => !late.has(write)),
    removals.filter((removal) => needsAllRoom || isSwapped(removal)),
    [...late],
    removals.filter((removal) => !needsAllRoom && !isSwapped(removal)),
  ];
  return waves.filter((wave) => wave.length > 0);
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

/** Labels as people type and read them: `env=prod`. */
export const labelTexts = (labels: SetContent['labels']): string[] =>
  Object.entries(labels).map((pair) => pair.join('='));

/** A TTL with its unit. Null is the default of the zone. */
export const ttlText = (ttl: SetContent['ttl']): string => (ttl === null ? 'default' : `${ttl} s`);
