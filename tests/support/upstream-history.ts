import { isDeepStrictEqual } from 'node:util';
import { groupBy } from './group-by.js';
import type { UpstreamRecord, UpstreamRrset, UpstreamWrite } from './local-cloud.js';

/** How a write of the log changes a set, by the upstream's documentation. Written apart from all code that it judges. */
function after(write: UpstreamWrite, current: UpstreamRrset | undefined): UpstreamRrset | undefined {
  const { name, type, method, path } = write;
  const body = (write.body ?? {}) as Partial<UpstreamRrset>;
  const records: UpstreamRecord[] = (body.records ?? []).map(({ value, comment }) => ({
    value,
    comment: comment ?? '',
  }));
  const named = new Set(records.map((record) => record.value));
  const fresh = { name, type, ttl: body.ttl ?? null, labels: body.labels ?? {}, records };
  const operation = operationOf(method, path);
  if (operation === 'create') return fresh;
  if (current === undefined) return operation === 'add_records' ? fresh : undefined;
  switch (operation) {
    case 'set_records':
      return { ...current, records };
    case 'add_records':
      return { ...current, records: [...current.records, ...records] };
    case 'remove_records': {
      const left = current.records.filter((record) => !named.has(record.value));
      return left.length === 0 ? undefined : { ...current, records: left };
    }
    case 'change_ttl':
      return { ...current, ttl: body.ttl ?? null };
    case 'update':
      return { ...current, labels: body.labels ?? current.labels };
    case 'delete':
      return undefined;
    default:
      throw new Error(`The log holds an unknown operation: ${method} ${path}`);
  }
}

function operationOf(method: string, path: string): string {
  if (method === 'DELETE') return 'delete';
  if (method === 'PUT') return 'update';
  return /\/actions\/(\w+)$/.exec(path)?.[1] ?? 'create';
}

export const keyOf = ({ name, type }: { name: string; type: string }): string => `${name}/${type}`;
export const ownerOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

export interface History {
  /** What the accepted writes lead to, by `name/TYPE`. */
  readonly sets: ReadonlyMap<string, UpstreamRrset>;
  /** The most records that each team ever held, by the last label of its names. */
  readonly peaks: ReadonlyMap<string, number>;
}

/** Plays the upstream's log from an empty zone on. */
export function replay(writes: readonly UpstreamWrite[]): History {
  const sets = new Map<string, UpstreamRrset>();
  const held = new Map<string, number>();
  const peaks = new Map<string, number>();
  for (const write of writes) {
    if (write.actionError !== null) continue;
    const before = sets.get(keyOf(write));
    const now = after(write, before);
    if (now === undefined) sets.delete(keyOf(write));
    else sets.set(keyOf(write), now);
    const owner = ownerOf(write.name);
    const count = (held.get(owner) ?? 0) + (now?.records.length ?? 0) - (before?.records.length ?? 0);
    held.set(owner, count);
    peaks.set(owner, Math.max(count, peaks.get(owner) ?? 0));
  }
  return { sets, peaks };
}

/** An entry of the audit log about a write. */
export interface AuditEntry {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly operation: string;
  readonly state: string;
  readonly requestBody: string | null;
  readonly upstreamBody: string | null;
  readonly foundApplied: boolean | null;
}

/**
 * Gives each write that reached the upstream its audit entry, in the order in which both happened.
 *
 * @returns what does not fit: writes without an entry of their own, and entries that claim a write that never happened
 */
export function findUnmatched(writes: readonly UpstreamWrite[], entries: readonly AuditEntry[]): string[] {
  const problems: string[] = [];
  const entriesOf = groupBy(entries, keyOf);
  const writesOf = groupBy(writes, keyOf);
  for (const key of new Set([...entriesOf.keys(), ...writesOf.keys()])) {
    const open = (entriesOf.get(key) ?? []).filter((entry) => entry.state !== 'refused' && entry.state !== 'unsent');
    for (const write of writesOf.get(key) ?? []) {
      const at = positionOf(write, open);
      if (at === -1) problems.push(`write without an entry: ${JSON.stringify(write)}`);
      else
        problems.push(
          ...open
            .splice(0, at + 1)
            .slice(0, -1)
            .flatMap(unfounded),
        );
    }
    problems.push(...open.flatMap(unfounded));
  }
  return problems;
}

/** An entry by the action that its answer named, else one that was settled: its answer was lost. */
function positionOf(write: UpstreamWrite, entries: readonly AuditEntry[]): number {
  const operation = operationOf(write.method, write.path);
  const isSame = (entry: AuditEntry): boolean =>
    entry.operation === operation &&
    isDeepStrictEqual(entry.requestBody === null ? null : JSON.parse(entry.requestBody), write.body);
  const answered = entries.findIndex(
    (entry) => entry.state === 'completed' && actionIdOf(entry) === write.actionId && isSame(entry),
  );
  if (answered !== -1) return answered;
  const tellsSo = (entry: AuditEntry): boolean => entry.foundApplied === true || write.actionError !== null;
  return entries.findIndex((entry) => entry.state === 'settled' && tellsSo(entry) && isSame(entry));
}

/** A settled entry may owe its effect to how the set was before; one that was answered 2xx owes it to its write. */
function unfounded(entry: AuditEntry): string[] {
  return entry.state === 'completed' ? [`entry without a write: ${JSON.stringify(entry)}`] : [];
}

function actionIdOf({ upstreamBody }: AuditEntry): number | null {
  return (JSON.parse(upstreamBody ?? '{}') as { action?: { id: number } }).action?.id ?? null;
}
