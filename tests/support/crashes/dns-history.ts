import type { UpstreamRecord, UpstreamRrset, UpstreamWrite } from '../system/local-cloud.js';
import { findMisfits } from './align.js';

/** How a write of the log changes a set according to the upstream documentation. It shares no code with what it judges. */
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
  /** The result of the accepted writes, by `name/TYPE`. */
  readonly sets: ReadonlyMap<string, UpstreamRrset>;
  /** The most records that each team ever held, by the last label of their names. */
  readonly peaks: ReadonlyMap<string, Peak>;
}

export interface Peak {
  readonly records: number;
  /** The number of the write that reached it first. */
  readonly seq: number;
}

/** Replays the upstream log, starting from an empty zone. */
export function replay(writes: readonly UpstreamWrite[]): History {
  const sets = new Map<string, UpstreamRrset>();
  const held = new Map<string, number>();
  const peaks = new Map<string, Peak>();
  for (const write of writes) {
    if (write.actionError !== null) continue;
    const before = sets.get(keyOf(write));
    const now = after(write, before);
    if (now === undefined) sets.delete(keyOf(write));
    else sets.set(keyOf(write), now);
    const owner = ownerOf(write.name);
    const count = (held.get(owner) ?? 0) + (now?.records.length ?? 0) - (before?.records.length ?? 0);
    held.set(owner, count);
    if (count > (peaks.get(owner)?.records ?? 0)) peaks.set(owner, { records: count, seq: write.seq });
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
 * Matches each write that reached the upstream to its audit entry, in the order in which both happened. A settled entry
 * may be explained by the earlier state of the set. An entry with a 2xx answer needs its own write.
 *
 * @returns what does not match: writes without an entry, and entries that claim a write that never happened
 */
export function findUnmatched(writes: readonly UpstreamWrite[], entries: readonly AuditEntry[]): string[] {
  const claims = Map.groupBy(entries.filter(({ state }) => !NEVER_ARRIVED.includes(state)).map(claimOf), ({ entry }) =>
    keyOf(entry),
  );
  const arrivals = Map.groupBy(writes.map(arrivalOf), ({ write }) => keyOf(write));
  return [...new Set([...claims.keys(), ...arrivals.keys()])].flatMap((key) => {
    const misfits = findMisfits(arrivals.get(key) ?? [], claims.get(key) ?? [], {
      fits: isOf,
      mayBeAlone: ({ entry }) => entry.state !== 'completed',
    });
    return [
      ...misfits.ones.map(({ write }) => `write without an entry: ${JSON.stringify(write)}`),
      ...misfits.others.map(({ entry }) => `entry without a write: ${JSON.stringify(entry)}`),
    ];
  });
}

const NEVER_ARRIVED = ['refused', 'unsent'];

interface Arrival {
  readonly write: UpstreamWrite;
  readonly wish: string;
}

interface Claim {
  readonly entry: AuditEntry;
  readonly wish: string;
  readonly actionId: number | null;
}

const arrivalOf = (write: UpstreamWrite): Arrival => ({
  write,
  wish: wishOf(operationOf(write.method, write.path), write.body),
});

const claimOf = (entry: AuditEntry): Claim => ({
  entry,
  wish: wishOf(entry.operation, entry.requestBody === null ? null : JSON.parse(entry.requestBody)),
  actionId: (JSON.parse(entry.upstreamBody ?? '{}') as { action?: { id: number } }).action?.id ?? null,
});

/** An entry names the action of its write, if there is one, unless the answer that named it was lost. */
function isOf({ write, wish }: Arrival, { entry, wish: claimed, actionId }: Claim): boolean {
  if (wish !== claimed) return false;
  if (entry.state === 'completed') return actionId === write.actionId;
  return entry.state === 'settled' && (entry.foundApplied === true || write.actionError !== null);
}

/** Equal for two requests that ask for the same, whatever the order of the fields in their bodies. */
const wishOf = (operation: string, body: unknown): string => `${operation} ${JSON.stringify(body, sortedKeys)}`;

const sortedKeys = (_key: string, value: unknown): unknown =>
  value === null || typeof value !== 'object' || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
