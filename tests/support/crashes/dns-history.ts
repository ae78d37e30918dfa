import type { UpstreamRecord, UpstreamRrset, UpstreamWrite } from '../system/local-cloud.js';

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
    const misfits = findMisfits(arrivals.get(key) ?? [], claims.get(key) ?? []);
    return [
      ...misfits.arrivals.map(({ write }) => `write without an entry: ${JSON.stringify(write)}`),
      ...misfits.claims.map(({ entry }) => `entry without a write: ${JSON.stringify(entry)}`),
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

/**
 * Both are in order, so that each matches at most one of the other, and no two pairs cross.
 *
 * @returns the smallest set without a match. If there are several, the pairs are as early as possible
 */
function findMisfits(arrivals: readonly Arrival[], claims: readonly Claim[]) {
  const width = claims.length + 1;
  // Only an answered write needs to have arrived.
  const aloneCosts = claims.map(({ entry }) => (entry.state === 'completed' ? 1 : 0));
  /** The smallest number of misfits after each pair of positions. */
  const fewest = new Uint32Array((arrivals.length + 1) * width);
  const at = (row: number, column: number): number => fewest[row * width + column] as number;
  const ifPaired = (row: number, column: number): number => {
    const [arrival, claim] = [arrivals[row], claims[column]];
    const fits = arrival !== undefined && claim !== undefined && isOf(arrival, claim);
    return fits ? at(row + 1, column + 1) : Number.POSITIVE_INFINITY;
  };
  const ifClaimAlone = (row: number, column: number): number =>
    column < claims.length ? at(row, column + 1) + (aloneCosts[column] as number) : Number.POSITIVE_INFINITY;
  const ifArrivalAlone = (row: number, column: number): number =>
    row < arrivals.length ? at(row + 1, column) + 1 : Number.POSITIVE_INFINITY;
  for (let row = arrivals.length; row >= 0; row -= 1) {
    for (let column = claims.length; column >= 0; column -= 1) {
      if (row === arrivals.length && column === claims.length) continue;
      const choices = [ifPaired, ifClaimAlone, ifArrivalAlone].map((choice) => choice(row, column));
      fewest[row * width + column] = Math.min(...choices);
    }
  }
  const misfits = { arrivals: [] as Arrival[], claims: [] as Claim[] };
  for (let [row, column] = [0, 0]; row < arrivals.length || column < claims.length; ) {
    if (ifPaired(row, column) === at(row, column)) {
      row += 1;
      column += 1;
    } else if (ifClaimAlone(row, column) === at(row, column)) {
      if (aloneCosts[column] === 1) misfits.claims.push(claims[column] as Claim);
      column += 1;
    } else {
      misfits.arrivals.push(arrivals[row] as Arrival);
      row += 1;
    }
  }
  return misfits;
}
