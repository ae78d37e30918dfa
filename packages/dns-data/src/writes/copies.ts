import { type Pool, rowClock } from '@corral/database';
import type { RrsetKey, RrsetWriteKind } from './rrset-write.js';
import { settledAnswer } from './settled-answer.js';

/** Identifies a request for finding earlier copies of it. */
export interface CopyQuery {
  readonly key: RrsetKey;
  readonly write: { readonly operation: RrsetWriteKind };
  /** SHA-256 of token, method, path and body; null for requests that no client repeats. */
  readonly requestHash: Buffer | null;
}

/** Whether an entry's answer was delivered. `recorded` is the table's view, which may lag behind this process. */
export type DeliveryCheck = (entryId: number, recorded: boolean) => boolean;

/** The first copy of a repeated request. */
export type FirstCopy =
  /** In progress. `isDue`: its holder is gone, so any process may settle it. */
  | { readonly kind: 'pending'; readonly entryId: number; readonly isDue: boolean }
  /** Finished. The repeated request shares the outcome. */
  | { readonly kind: 'replayed'; readonly entryId: number; readonly status: number; readonly body: string };

export interface LatestWrite {
  readonly latest_id: number | null;
  readonly latest_state: string | null;
  readonly latest_identical: boolean | null;
  readonly latest_answered: boolean | null;
  readonly latest_due: boolean | null;
  readonly latest_recent: boolean | null;
  readonly latest_status: number | null;
  readonly latest_body: string | null;
  readonly latest_applied: boolean | null;
  readonly latest_found: string | null;
  readonly latest_completed_at: Date | null;
}

/** SQL for whether a row `latest` ended so lately that an identical request may be a copy. */
export const isRecent = (replayMs: string): string =>
  `latest.completed_at > clock_timestamp() - make_interval(secs => ${replayMs}::float8 / 1000)`;

/** SQL for the columns of `LatestWrite` of a row `latest`. */
export const latestColumns = (hash: string, replayMs: string): string => `
  latest.id AS latest_id, latest.state AS latest_state, latest.request_hash = ${hash} AS latest_identical,
  latest.answered AS latest_answered, latest.lease_until <= ${rowClock} AS latest_due,
  ${isRecent(replayMs)} AS latest_recent,
  latest.upstream_status AS latest_status, latest.upstream_body AS latest_body,
  latest.found_applied AS latest_applied, latest.found_body AS latest_found,
  latest.completed_at AS latest_completed_at`;

/** SQL for the latest write to the set in the first three parameters. */
export const latestWrite = `
  SELECT * FROM dns_audit_entry
  WHERE zone_id = $1 AND name = $2 AND type = $3 AND actor <> 'upstream' AND minute IS NULL
  ORDER BY id DESC LIMIT 1`;

const findLatest = {
  name: 'copies-latest',
  text: `SELECT ${latestColumns('$4', '$5')} FROM (${latestWrite}) AS latest`,
};

const findById = {
  name: 'copies-by-id',
  text: `SELECT ${latestColumns('$2', '$3')} FROM dns_audit_entry AS latest WHERE id = $1`,
};

/** Finds the first copies of repeated requests. */
export const copyStore = (pool: Pick<Pool, 'query'>, replayMs: number) => ({
  /** The latest write to the set, if it is an identical request whose client may not have received its answer. */
  async findCopy(query: CopyQuery, wasDelivered: DeliveryCheck): Promise<FirstCopy | null> {
    const { zoneId, name, type } = query.key;
    const values = [zoneId, name, type, query.requestHash, replayMs];
    const { rows } = await pool.query<LatestWrite>({ ...findLatest, values });
    return copyOf(query, rows[0], wasDelivered);
  },

  /**
   * The outcome of a copy that was seen in progress. It is shared even if the first client has received it and the set
   * was written since.
   *
   * @returns null when the first copy certainly had no effect
   */
  async followCopy(query: CopyQuery, entryId: number): Promise<FirstCopy | null> {
    const { rows } = await pool.query<LatestWrite>({ ...findById, values: [entryId, query.requestHash, replayMs] });
    return copyOf(query, rows[0], () => false);
  },
});
export type CopyStore = ReturnType<typeof copyStore>;

function copyOf(query: CopyQuery, latest: LatestWrite | undefined, wasDelivered: DeliveryCheck): FirstCopy | null {
  if (latest === undefined || latest.latest_id === null || !latest.latest_identical) return null;
  if (latest.latest_state === 'pending') {
    return { kind: 'pending', entryId: latest.latest_id, isDue: latest.latest_due === true };
  }
  return replayOf(query, latest, wasDelivered);
}

/**
 * Replays the first outcome only while that write is the latest to the set. After another write, the request is a new
 * one.
 */
export function replayOf(
  { key, write }: CopyQuery,
  latest: LatestWrite,
  wasDelivered: DeliveryCheck,
): Extract<FirstCopy, { kind: 'replayed' }> | null {
  const { latest_id: entryId, latest_status: status, latest_body: body, latest_state: state } = latest;
  if (entryId === null || !latest.latest_identical || !latest.latest_recent) return null;
  if (wasDelivered(entryId, latest.latest_answered === true)) return null;
  if (state === 'settled' && latest.latest_applied && latest.latest_completed_at !== null) {
    const settled = { entryId, key, operation: write.operation, found: latest.latest_found };
    return { kind: 'replayed', entryId, ...settledAnswer(settled, latest.latest_completed_at) };
  }
  if ((state === 'completed' || state === 'refused') && status !== null && body !== null) {
    return { kind: 'replayed', entryId, status, body };
  }
  return null;
}
