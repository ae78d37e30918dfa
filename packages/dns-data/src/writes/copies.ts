import { type Prisma, readClock, type Sql, sql, sqlText } from '@corral/database';
import { sleep } from '@corral/service';
import { OWN_ACTION_ID_BASE } from '../actions/action-store.js';
import type { RrsetKey, RrsetWriteKind } from '../rrset.js';

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
  /** A write in progress. `isDue`: its holder is gone, so any process may settle it. */
  | { readonly kind: 'pending'; readonly entryId: number; readonly isDue: boolean }
  /** Finished. The repeated request shares the outcome. */
  | { readonly kind: 'replayed'; readonly entryId: number; readonly status: number; readonly body: string };

/** SQL: the columns of an `EarlierWrite`. */
const columns = sqlText(`id, state::text AS state, request_hash AS "requestHash", answered, lease_until AS "leaseUntil",
  completed_at AS "completedAt", upstream_status AS "upstreamStatus", upstream_body AS "upstreamBody",
  found_applied AS "foundApplied", found_body AS "foundBody"`);

/** Entries that are no writes of Corral: changes by others, and reminders. */
const noWrite = { actor: 'upstream', operation: 'remind' } as const;
/** Excludes them, for Prisma. */
export const isWrite = { actor: { not: noWrite.actor }, operation: { not: noWrite.operation } } as const;

/** An earlier write to a set, as far as a copy of it depends on it. */
export interface EarlierWrite {
  readonly id: bigint;
  readonly state: string;
  readonly requestHash: Uint8Array | null;
  readonly answered: boolean;
  readonly leaseUntil: Date | null;
  readonly completedAt: Date | null;
  readonly upstreamStatus: number | null;
  readonly upstreamBody: string | null;
  readonly foundApplied: boolean | null;
  readonly foundBody: string | null;
}

/** SQL: the latest write to a set (`EarlierWrite`). Changes outside Corral and writes that were never sent do not count. */
export const latestWriteTo = ({ zoneId, name, type }: RrsetKey): Sql => sql`
  SELECT ${columns} FROM dns_audit_entry
  WHERE zone_id = ${zoneId} AND name = ${name} AND type = ${type}
    AND actor <> ${noWrite.actor}::dns_actor AND operation <> ${noWrite.operation} AND minute IS NULL
  ORDER BY id DESC LIMIT 1`;

/** The moment at which a request is compared with earlier ones. */
export interface Moment {
  /** The database's clock. */
  readonly now: Date;
  /** How long an undelivered outcome is kept for a copy. */
  readonly replayMs: number;
}

/** Finds the first copies of repeated requests. */
export const copyStore = (prisma: Prisma, replayMs: number) => ({
  /** The latest write to the set, if it is an identical request whose client may not have received its answer. */
  async findCopy(query: CopyQuery, wasDelivered: DeliveryCheck): Promise<FirstCopy | null> {
    const now = await readClock(prisma);
    const [earlier = null] = await prisma.$queryRaw<EarlierWrite[]>(latestWriteTo(query.key));
    return copyOf(query, earlier, { now, replayMs }, wasDelivered);
  },

  /**
   * The outcome of a copy that was seen in progress. It is shared even if the first client has received it and the set
   * was written since.
   *
   * @returns null when the first copy certainly had no effect
   */
  async followCopy(query: CopyQuery, entryId: number): Promise<FirstCopy | null> {
    const now = await readClock(prisma);
    const [earlier = null] = await prisma.$queryRaw<EarlierWrite[]>`
      SELECT ${columns} FROM dns_audit_entry WHERE id = ${entryId}`;
    return copyOf(query, earlier, { now, replayMs }, () => false);
  },
});
export type CopyStore = ReturnType<typeof copyStore>;

/** What a request repeats, if it repeats this write. Pure. */
export function copyOf(
  query: CopyQuery,
  earlier: EarlierWrite | null,
  moment: Moment,
  wasDelivered: DeliveryCheck,
): FirstCopy | null {
  if (earlier === null || !isIdentical(query, earlier)) return null;
  if (earlier.state === 'pending') {
    return { kind: 'pending', entryId: Number(earlier.id), isDue: isDue(earlier, moment.now) };
  }
  return replayOf(query, earlier, moment, wasDelivered);
}

/** Whether the request is the one that made this write. */
export function isIdentical({ requestHash }: CopyQuery, earlier: EarlierWrite): boolean {
  return requestHash !== null && earlier.requestHash !== null && requestHash.equals(earlier.requestHash);
}

/** Whether the holder of a pending write is gone, so that any process may settle it. */
export function isDue({ leaseUntil }: EarlierWrite, now: Date): boolean {
  return leaseUntil !== null && leaseUntil <= now;
}

/** The first outcome, which is replayed for a while. */
function replayOf(
  { key, write }: CopyQuery,
  earlier: EarlierWrite,
  { now, replayMs }: Moment,
  wasDelivered: DeliveryCheck,
): Extract<FirstCopy, { kind: 'replayed' }> | null {
  const { state, completedAt, upstreamStatus: status, upstreamBody: body } = earlier;
  const entryId = Number(earlier.id);
  if (completedAt === null || completedAt.getTime() <= now.getTime() - replayMs) return null;
  if (wasDelivered(entryId, earlier.answered)) return null;
  if (state === 'settled' && earlier.foundApplied) {
    const settled = { entryId, key, operation: write.operation, found: earlier.foundBody };
    return { kind: 'replayed', entryId, ...settledAnswer(settled, completedAt) };
  }
  if ((state === 'completed' || state === 'refused') && status !== null && body !== null) {
    return { kind: 'replayed', entryId, status, body };
  }
  return null;
}

export interface AnsweredRecorder {
  /** Records that this entry's client received its answer. */
  note(entryId: number): void;
  has(entryId: number): boolean;
  /** Waits until all is written. */
  close(): Promise<void>;
}

/** Pause before deliveries that could not be recorded are recorded again. */
const RETRY_MS = 500;

/**
 * Remembers which answers were delivered, so that a later copy is a new write: immediately in this process, and for other processes as
 * soon as it is written, which is tried while it matters. An entry lost in a crash counts as undelivered, so an identical write gets the
 * same answer again.
 */
export function answeredRecorder(prisma: Prisma, replayMs: number, onError: (error: Error) => void): AnsweredRecorder {
  const noted = new Set<number>();
  const writing = new Set<Promise<unknown>>();
  let isClosed = false;
  const write = async (id: number): Promise<void> => {
    for (let isFirst = true; ; isFirst = false) {
      try {
        await prisma.dnsAuditEntry.updateMany({ where: { id }, data: { answered: true } });
        return;
      } catch (error) {
        if (isFirst) onError(error as Error);
      }
      if (isClosed || !noted.has(id)) return;
      await sleep(RETRY_MS);
    }
  };
  return {
    note(id) {
      noted.add(id);
      setTimeout(() => noted.delete(id), replayMs).unref();
      const written = write(id).finally(() => writing.delete(written));
      writing.add(written);
    },
    has: (id) => noted.has(id),
    async close() {
      isClosed = true;
      await Promise.all(writing);
    },
  };
}

export interface SettledWrite {
  readonly entryId: number;
  readonly key: RrsetKey;
  readonly operation: RrsetWriteKind;
  /** The set as read by the settlement. */
  readonly found: string | null;
}

const commands: Record<Exclude<RrsetWriteKind, 'update'>, string> = {
  create: 'create_rrset',
  set_records: 'set_rrset_records',
  add_records: 'add_rrset_records',
  remove_records: 'remove_rrset_records',
  change_ttl: 'change_rrset_ttl',
  delete: 'delete_rrset',
};

/**
 * Builds the answer to a settled write whose effect was found but whose answer was lost. It has the upstream's shape,
 * with a finished action of our own, since the upstream's action id is unknown.
 */
export function settledAnswer(write: SettledWrite, at: Date): { status: number; body: string } {
  const rrset = write.found === null ? '' : `"rrset":${write.found}`;
  if (write.operation === 'update') return { status: 200, body: `{${rrset}}` };
  const action = `"action":${settledAction(write, at)?.body}`;
  return { status: 201, body: write.operation === 'create' ? `{${rrset},${action}}` : `{${action}}` };
}

/** The action inside `settledAnswer`; null for `update`, whose answer has none. */
export function settledAction(write: SettledWrite, at: Date): { id: number; body: string } | null {
  if (write.operation === 'update') return null;
  const id = OWN_ACTION_ID_BASE + write.entryId;
  const time = at.toISOString();
  return {
    id,
    body: JSON.stringify({
      id,
      command: commands[write.operation],
      status: 'success',
      progress: 100,
      started: time,
      finished: time,
      resources: [{ id: write.key.zoneId, type: 'zone' }],
      error: null,
    }),
  };
}
