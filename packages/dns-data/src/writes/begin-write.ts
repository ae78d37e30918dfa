import { ownerLabelOf } from '@corral/contracts';
import { inTransaction, isHeldNow, type Pool, type Queryable, rowClock } from '@corral/database';
import { recordCountOf } from '../mirror/rrset-body.js';
import {
  type Admission,
  countPresent,
  decideAdmission,
  type KnownRrset,
  type OwnerQuota,
  type RecordQuota,
  statedRecords,
} from './admission.js';
import { type DeliveryCheck, isRecent, type LatestWrite, latestColumns, latestWrite, replayOf } from './copies.js';
import type { BeginOutcome, LedgerOptions, NewWrite } from './new-write.js';
import { ceilingsOf, heldByActions, holdsByActions, mirroredRecords, reservedRecords } from './records-held.js';
import type { RrsetOwner, RrsetWrite } from './rrset-write.js';

interface QuotaSnapshot extends LatestWrite {
  rrset: string | null;
  records: number;
  reserved: number;
  /** Records beyond those mirrored and reserved that reappear if actions fail. */
  reserved_by_actions: number;
  /** Ceiling of the set itself; null when no action of its writes can still fail. */
  ceiling: number | null;
  /** Whether a hold is in force. */
  held: boolean;
}

type Seen = QuotaSnapshot & Required<Pick<KnownRrset, 'isInDoubt'>>;

interface Owner {
  readonly live: boolean;
  readonly recordsMax?: number | null;
}

const owners = {
  // The quota is read under the lock, so a write that begins after a change of it is counted by the new one.
  team: { columns: 'true AS live, dns_records_max AS "recordsMax"', row: 'team WHERE id = $6' },
  // Ending a demo takes this lock too, so no write can begin after its end is committed.
  demo: {
    columns: `ended_at IS NULL AND expires_at > ${rowClock} AS live, NULL::int AS "recordsMax"`,
    row: 'demo WHERE id = $6',
  },
} as const;

const lockOf = ({ columns, row }: (typeof owners)[keyof typeof owners]): string =>
  `SELECT ${columns} FROM ${row.replace('$6', '$1')} FOR NO KEY UPDATE`;

const lockOwner = {
  team: { name: 'ledger-lock-team', text: lockOf(owners.team) },
  demo: { name: 'ledger-lock-demo', text: lockOf(owners.demo) },
};

/** The same lock without the columns, which the statement after it reads. */
const lockOnly = {
  team: { name: 'ledger-lock-only-team', text: 'SELECT FROM team WHERE id = $1 FOR NO KEY UPDATE' },
  demo: { name: 'ledger-lock-only-demo', text: 'SELECT FROM demo WHERE id = $1 FOR NO KEY UPDATE' },
};

// One snapshot for the mirrored and the reserved counts. Otherwise a write that finishes in between would be counted
// twice or not at all.
const readSnapshot = {
  name: 'ledger-snapshot',
  text: `
    SELECT ${latestColumns('$5', '$7')},
           (SELECT body FROM dns_rrset WHERE zone_id = $1 AND name = $2 AND type = $3) AS rrset,
           ${mirroredRecords('$1', '$4')} AS records,
           ${reservedRecords('$6')} AS reserved,
           holding.records AS reserved_by_actions, holding.ceiling, ${isHeldNow} AS held
    FROM (SELECT 1) AS one
    CROSS JOIN LATERAL (
      SELECT ${heldByActions} AS records,
             max(high.ceiling) FILTER (WHERE zone_id = $1 AND name = $2 AND type = $3) AS ceiling
      FROM ${ceilingsOf('$6')}
    ) AS holding
    LEFT JOIN LATERAL (${latestWrite}) AS latest ON true`,
};

const entryColumns = `team_id, demo_id, zone_id, name, type, request_hash, actor, token_id, operation, request_body, request_id,
                      state, reserved_records, lease_until, lease_fence, created_at, before_body`;

/** SQL for values of `entryColumns`: `entryValues` are the parameters from `first` on. */
const pendingEntry = (
  first: number,
  { key, reserve, before }: { key: string; reserve: string; before: string },
): string => {
  const [teamId, demoId, tokenId, operation, body, requestId, leaseMs] = Array.from(
    { length: 7 },
    (_, at) => `$${first + at}`,
  );
  return `${teamId}::uuid, ${demoId}::uuid, ${key},
          CASE WHEN ${tokenId}::uuid IS NULL THEN 'service' ELSE 'token' END::dns_actor, ${tokenId}::uuid, ${operation}::text,
          ${body}::text, ${requestId}::text, 'pending'::dns_audit_state, ${reserve},
          clock_timestamp() + make_interval(secs => ${leaseMs}::float8 / 1000), 1, clock_timestamp(), ${before}`;
};

const entryValues = ({ owner, tokenId, write, requestBody, requestId }: NewWrite, { leaseMs }: LedgerOptions) => [
  owner.teamId,
  owner.kind === 'demo' ? owner.id : null,
  tokenId,
  write.operation,
  requestBody,
  requestId,
  leaseMs,
];

const insertPending = {
  name: 'ledger-insert-pending',
  text: `INSERT INTO dns_audit_entry (${entryColumns})
         VALUES (${pendingEntry(7, { key: '$1, $2, $3, $4', reserve: '$5', before: '$6' })}) RETURNING id`,
};

/**
 * Enters a write if `decide` surely admits it: the same rule in SQL, for writes whose number of records ($15) does not depend on the set.
 * Without those that may repeat an earlier one, and those of an owner some of whose records may reappear.
 */
const enterIfClear = ({ columns, row }: (typeof owners)[keyof typeof owners]): string => `
  WITH owner AS (
    SELECT ${columns} FROM ${row}
  ), seen AS MATERIALIZED (
    SELECT mirror.body AS rrset, coalesce(mirror.record_count, 0) AS mirrored
    FROM (SELECT 1) AS one
    LEFT JOIN dns_rrset AS mirror ON mirror.zone_id = $1 AND mirror.name = $2 AND mirror.type = $3
    LEFT JOIN LATERAL (${latestWrite}) AS latest ON true
    WHERE NOT ${isHeldNow} AND NOT ${holdsByActions('$6')} AND latest.state IS DISTINCT FROM 'pending'
      AND NOT coalesce(latest.request_hash = $5 AND ${isRecent('$7')}, false)
  ), entered AS (
    INSERT INTO dns_audit_entry (${entryColumns})
    SELECT ${pendingEntry(8, { key: '$1::bigint, $2::text, $3::text, $5::bytea', reserve: 'greatest(0, $15::int - seen.mirrored)', before: 'seen.rrset' })}
    FROM seen, owner
    WHERE (owner.live OR $11::text = 'delete') AND ($15::int <= seen.mirrored OR ($15::int <= $16::int AND
          ${mirroredRecords('$1', '$4')} + ${reservedRecords('$6')} + $15::int - seen.mirrored <= coalesce(owner."recordsMax", $17::int)))
    RETURNING id
  )
  SELECT entered.id, seen.rrset, greatest(seen.mirrored, $15::int) AS "recordsMax" FROM entered, seen`;

const enterClear = {
  team: { name: 'ledger-enter-team', text: enterIfClear(owners.team) },
  demo: { name: 'ledger-enter-demo', text: enterIfClear(owners.demo) },
};

/**
 * First transaction of a write: checks the quotas and records the write as pending, before anything is sent. Those that SQL did not
 * enter are decided in a second transaction.
 *
 * @param wasDelivered whether the client of an identical earlier write has its answer; only then is this a new write
 */
export async function beginWrite(
  pool: Pool,
  options: LedgerOptions,
  newWrite: NewWrite,
  wasDelivered: DeliveryCheck,
): Promise<BeginOutcome> {
  const stated = statedRecords(newWrite.write);
  const attempt = { options, newWrite, wasDelivered };
  const outcome = stated === null ? null : await beginAtOnce(pool, attempt, stated);
  return outcome ?? inTransaction(pool, (tx) => beginInSteps(attempt, tx));
}

interface Attempt {
  readonly options: LedgerOptions;
  readonly newWrite: NewWrite;
  readonly wasDelivered: DeliveryCheck;
}

/** @returns null for a write that was not entered, for whatever reason */
async function beginAtOnce(pool: Pool, attempt: Attempt, stated: number): Promise<BeginOutcome | null> {
  const { options, newWrite } = attempt;
  const { kind, id } = newWrite.owner;
  const { limit, quota } = quotaOf(newWrite.owner, options.quota);
  const limits = [stated, quota.recordsPerRrset, quota[limit]];
  const values = [...snapshotValues(attempt), ...entryValues(newWrite, options), ...limits];
  const { rows } = await inTransaction(pool, async (tx) => {
    await tx.query({ ...lockOnly[kind], values: [id] });
    // Takes its snapshot while the lock is held.
    return tx.query<Entered>({ ...enterClear[kind], values });
  });
  return rows[0] === undefined ? null : begunAs(attempt, rows[0]);
}

interface Entered {
  readonly id: number;
  readonly rrset: string | null;
  readonly recordsMax: number;
}

async function beginInSteps(attempt: Attempt, tx: Queryable): Promise<BeginOutcome> {
  const { owner, key, requestHash } = attempt.newWrite;
  const locked = await tx.query<Owner>({ ...lockOwner[owner.kind], values: [owner.id] });
  const { rows } = await tx.query<QuotaSnapshot>({ ...readSnapshot, values: snapshotValues(attempt) });
  const seen = rows[0] as QuotaSnapshot;
  const isInDoubt = countPresent(attempt.newWrite.write, seen.rrset) > 0 && (await isSetInDoubt(attempt.newWrite, tx));
  const decided = decide(attempt, { ...seen, isInDoubt }, locked.rows[0]);
  if (decided.kind !== 'admitted') return decided;
  const entry = [key.zoneId, key.name, key.type, requestHash, decided.reserve, seen.rrset];
  const inserted = await tx.query<{ id: number }>({
    ...insertPending,
    values: [...entry, ...entryValues(attempt.newWrite, attempt.options)],
  });
  const { id } = inserted.rows[0] as { id: number };
  return begunAs(attempt, { id, rrset: seen.rrset, recordsMax: decided.recordsMax });
}

/**
 * Whether the set may have other values upstream than in the mirror: the action of a write to it still runs, or has failed, and the set
 * was not read since. Takes longer than the snapshot, and only writes that add values which the mirror already has depend on it.
 */
async function isSetInDoubt({ owner, key }: NewWrite, tx: Queryable): Promise<boolean> {
  const { rows } = await tx.query<{ isInDoubt: boolean }>({
    name: 'ledger-in-doubt',
    text: `SELECT EXISTS (SELECT FROM dns_audit_entry
                          WHERE zone_id = $1 AND name = $2 AND type = $3 AND recheck_at IS NOT NULL)
               OR EXISTS (SELECT FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
                          WHERE coalesce(action.demo_id, action.team_id) = $4 AND action.status = 'running'
                            AND zone_id = $1 AND name = $2 AND type = $3) AS "isInDoubt"`,
    values: [key.zoneId, key.name, key.type, owner.id],
  });
  return rows[0]?.isInDoubt === true;
}

const snapshotValues = ({ newWrite: { owner, key, requestHash }, options }: Attempt) => [
  key.zoneId,
  key.name,
  key.type,
  ownerLabelOf(key.name),
  requestHash,
  owner.id,
  options.replayMs,
];

const begunAs = ({ newWrite: { write } }: Attempt, { id, rrset, recordsMax }: Entered): BeginOutcome => {
  const { operation } = write;
  return { kind: 'begun', lease: { entryId: id, fence: 1, operation, current: rrset, recordsMax } };
};

type Decided = Exclude<BeginOutcome, { kind: 'begun' }> | Extract<Admission, { kind: 'admitted' }>;

/** What becomes of a write, by what was read under the lock of its owner. */
function decide({ options, newWrite, wasDelivered }: Attempt, seen: Seen, locked: Owner | undefined): Decided {
  const { owner, write } = newWrite;
  if (seen.held) return { kind: 'held' };
  if (!locked?.live && write.operation !== 'delete') return { kind: 'ended' };
  if (seen.latest_state === 'pending') {
    const { latest_id: entryId, latest_identical: identical, latest_due: isDue } = seen;
    return { kind: 'busy', entryId: Number(entryId), identical: identical === true, isDue: isDue === true };
  }
  const replayed = replayOf(newWrite, seen, wasDelivered);
  if (replayed !== null) return replayed;
  const { admission, reservedByActions } = admit(write, seen, quotaOf(owner, options.quota, locked?.recordsMax));
  return admission.kind === 'refused' ? { ...admission, reservedByActions } : admission;
}

/** Records freed by earlier writes count as used while their actions may fail. */
function admit(write: RrsetWrite, seen: Seen, owner: OwnerQuota) {
  const { rrset: body, records, reserved, reserved_by_actions: ofActions } = seen;
  const rrset = { body, ceiling: Math.max(recordCountOf(body), seen.ceiling ?? 0), isInDoubt: seen.isInDoubt };
  const admission = decideAdmission(write, rrset, records + reserved + ofActions, owner);
  const isBlockedByActions = admission.kind === 'refused' && (ofActions > 0 || rrset.ceiling > recordCountOf(body));
  const reservedByActions =
    isBlockedByActions && decideAdmission(write, { body }, records + reserved, owner).kind === 'admitted';
  return { admission, reservedByActions };
}

/** @param recordsMax the team's own quota; without it, that of the installation applies */
function quotaOf({ kind }: RrsetOwner, quota: RecordQuota, recordsMax: number | null = null): OwnerQuota {
  if (kind !== 'team') return { limit: 'recordsPerDemo', quota };
  return { limit: 'recordsPerTeam', quota: { ...quota, recordsPerTeam: recordsMax ?? quota.recordsPerTeam } };
}
