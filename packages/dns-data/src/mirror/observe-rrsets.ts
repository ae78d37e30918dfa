import { ownerLabelOf } from '@corral/contracts';
import type { Queryable } from '@corral/database';
import type { Log, Metrics } from '@corral/service';
import { type Comparison, compareRrset } from './compare-rrset.js';
import { recordCountOf } from './rrset-body.js';

export interface SetKey {
  readonly name: string;
  readonly type: string;
}

/** A record set read from the upstream. */
export interface FoundRrset extends SetKey {
  /** The upstream's body, null when the set is absent there. */
  readonly found: string | null;
}

/** Sets read from the upstream at one time. */
export interface RrsetReadings {
  readonly zoneId: number;
  /** Postgres' clock before the read was sent. */
  readonly readAt: Date;
  readonly sets: readonly FoundRrset[];
}

export interface ObserveOptions {
  /**
   * An accepted write becomes visible upstream only after its action. A read within this time after the write proves
   * nothing.
   */
  readonly graceMs: number;
  /** Whether differences are drift, or sets mirrored for the first time. */
  readonly purpose: 'import' | 'sync';
}

export type DriftKind = 'added' | 'changed' | 'removed';

/** `skipped`: our own write is pending or too recent for the read to prove anything. */
export type ObserveResult = Exclude<Comparison, 'drifted'> | DriftKind | 'skipped';

/** The outcome for one set that was read. */
export interface Observation extends SetKey {
  readonly result: ObserveResult;
  /** Slug of the team whose audit log has the entry; null when there is none. */
  readonly team: string | null;
}

interface Owner {
  readonly label: string;
  readonly team_id: string | null;
  readonly demo_id: string | null;
  readonly team: string | null;
}

interface Judged extends FoundRrset {
  readonly result: ObserveResult;
  readonly owner: Owner | null;
}

/**
 * Updates the mirror to what was read upstream, except for sets with a pending or recent write of ours. Drift is
 * recorded as an audit entry with the actor `upstream`. A page costs as many statements as one set.
 */
export async function observeRrsets(
  tx: Queryable,
  { zoneId, readAt, sets }: RrsetReadings,
  { graceMs, purpose }: ObserveOptions,
): Promise<Observation[]> {
  if (sets.length === 0) return [];
  // Writes begin under the same lock, so none can begin on these sets before the commit.
  const owners = await lockOwners(tx, zoneId, [...new Set(sets.map(({ name }) => ownerLabelOf(name)))]);
  const contested = await findContested(tx, { zoneId, sets, readAt, graceMs });
  const mirrored = await readMirrored(tx, zoneId, sets);
  const judged = sets.map((set): Judged => {
    const owner = owners.get(ownerLabelOf(set.name)) ?? null;
    const id = idOf(set);
    return { ...set, owner, result: contested.has(id) ? 'skipped' : resultOf(set, mirrored.get(id) ?? null) };
  });
  await writeMirror(tx, zoneId, judged);
  await forgetCeilings(tx, zoneId, judged);
  if (purpose === 'sync') await recordDrift(tx, zoneId, judged, mirrored);
  return judged.map(({ name, type, result, owner }) => ({ name, type, result, team: owner?.team ?? null }));
}

function isDrift(result: ObserveResult): result is DriftKind {
  return result === 'added' || result === 'changed' || result === 'removed';
}

/** Identifies a set within its zone. */
export const idOf = ({ name, type }: SetKey): string => `${name}/${type}`;

function resultOf({ type, found }: FoundRrset, mirrored: string | null): ObserveResult {
  const comparison = compareRrset(type, mirrored, found);
  if (comparison !== 'drifted') return comparison;
  return mirrored === null ? 'added' : found === null ? 'removed' : 'changed';
}

/** An ended demo owns its label until it is released, so records found there still belong to it. */
async function lockOwners(tx: Queryable, zoneId: number, labels: string[]): Promise<Map<string, Owner>> {
  const teams = await tx.query<Owner>(
    `SELECT slug AS label, id AS team_id, NULL AS demo_id, slug AS team FROM team
     WHERE slug = ANY($2) AND NOT EXISTS (SELECT 1 FROM dns_zone WHERE id = $1 AND of_demos)
     ORDER BY id FOR NO KEY UPDATE`,
    [zoneId, labels],
  );
  const demos = await tx.query<Owner>(
    `SELECT label, team_id, id AS demo_id, (SELECT slug FROM team WHERE id = demo.team_id) AS team FROM demo
     WHERE zone_id = $1 AND label = ANY($2) AND released_at IS NULL
     ORDER BY id FOR NO KEY UPDATE`,
    [zoneId, labels],
  );
  return new Map([...demos.rows, ...teams.rows].map((owner) => [owner.label, owner]));
}

interface ContestedQuery {
  readonly zoneId: number;
  readonly sets: readonly SetKey[];
  readonly readAt: Date;
  readonly graceMs: number;
}

/**
 * The ids of the sets for which a read at that time proves nothing. An accepted write becomes visible when its action
 * ends; if we have not seen the end, the grace period applies. An update has no action and is visible immediately.
 */
export async function findContested(
  db: Queryable,
  { zoneId, sets, readAt, graceMs }: ContestedQuery,
): Promise<Set<string>> {
  const { rows } = await db.query<SetKey>(
    `SELECT DISTINCT name, type FROM dns_audit_entry AS entry
     WHERE zone_id = $1 AND (name, type) IN (SELECT * FROM unnest($2::text[], $3::text[])) AND actor <> 'upstream'
       AND (state = 'pending'
            OR (state IN ('completed', 'settled') AND completed_at >= $4::timestamptz)
            OR (state = 'completed' AND operation <> 'update' AND completed_at > $4::timestamptz - make_interval(secs => $5::float8 / 1000)
                AND NOT EXISTS (SELECT 1 FROM dns_action
                                WHERE audit_entry_id = entry.id AND status <> 'running'
                                  AND checked_at < $4::timestamptz)))`,
    [zoneId, ...columnsOf(sets), readAt, graceMs],
  );
  return new Set(rows.map(idOf));
}

async function readMirrored(tx: Queryable, zoneId: number, sets: readonly SetKey[]): Promise<Map<string, string>> {
  const { rows } = await tx.query<SetKey & { body: string }>(
    `SELECT name, type, body FROM dns_rrset
     WHERE zone_id = $1 AND (name, type) IN (SELECT * FROM unnest($2::text[], $3::text[]))
     ORDER BY name, type FOR UPDATE`,
    [zoneId, ...columnsOf(sets)],
  );
  return new Map(rows.map((row) => [idOf(row), row.body]));
}

async function writeMirror(tx: Queryable, zoneId: number, judged: readonly Judged[]): Promise<void> {
  const differing = judged.filter(({ result }) => result !== 'same' && result !== 'skipped');
  const kept = differing.filter(({ found }) => found !== null);
  const gone = differing.filter(({ found }) => found === null);
  if (kept.length > 0) {
    await tx.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
       SELECT $1::bigint, * FROM unnest($2::text[], $3::text[], $4::text[], $5::int[], $6::text[])
       ON CONFLICT (zone_id, name, type) DO UPDATE
       SET record_count = excluded.record_count, body = excluded.body, updated_at = clock_timestamp()`,
      [
        zoneId,
        ...columnsOf(kept),
        kept.map(({ name }) => ownerLabelOf(name)),
        kept.map(({ found }) => recordCountOf(found)),
        kept.map(({ found }) => found),
      ],
    );
  }
  if (gone.length > 0) {
    await tx.query(
      `DELETE FROM dns_rrset
       WHERE zone_id = $1 AND (name, type) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
      [zoneId, ...columnsOf(gone)],
    );
  }
}

/** The sets have just been read, so the number of their records is certain. */
async function forgetCeilings(tx: Queryable, zoneId: number, judged: readonly Judged[]): Promise<void> {
  const known = judged.filter(({ result }) => result !== 'skipped');
  if (known.length === 0) return;
  await tx.query(
    `UPDATE dns_audit_entry SET records_ceiling = NULL
     WHERE records_ceiling IS NOT NULL AND zone_id = $1
       AND (name, type) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
    [zoneId, ...columnsOf(known)],
  );
}

async function recordDrift(
  tx: Queryable,
  zoneId: number,
  judged: readonly Judged[],
  before: ReadonlyMap<string, string>,
): Promise<void> {
  const drifted = judged.filter(({ result }) => isDrift(result));
  if (drifted.length === 0) return;
  await tx.query(
    `INSERT INTO dns_audit_entry (zone_id, name, type, team_id, demo_id, found_body, before_body, actor, operation, state,
                                  created_at, completed_at)
     SELECT $1::bigint, *, 'upstream'::dns_actor, 'drift', 'observed'::dns_audit_state, clock_timestamp(), clock_timestamp()
     FROM unnest($2::text[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[])`,
    [
      zoneId,
      ...columnsOf(drifted),
      drifted.map(({ owner }) => owner?.team_id ?? null),
      drifted.map(({ owner }) => owner?.demo_id ?? null),
      drifted.map(({ found }) => found),
      drifted.map((set) => before.get(idOf(set)) ?? null),
    ],
  );
}

export function columnsOf(sets: readonly SetKey[]): [names: string[], types: string[]] {
  return [sets.map(({ name }) => name), sets.map(({ type }) => type)];
}

/** Reports drift of a compared set; other results are ignored. */
export type DriftReporter = (observation: Observation) => void;

/** Counts drift and logs a line per set without its records. The audit entry already exists. */
export function driftReporter(metrics: Pick<Metrics, 'counter'>, log: Log): DriftReporter {
  const drifts = metrics.counter({
    name: 'corral_dns_drift_total',
    help: 'Record sets changed outside Corral',
    labelNames: ['kind'],
  });
  return ({ name, type, team, result }) => {
    if (!isDrift(result)) return;
    drifts.inc({ kind: result });
    log.warn('drift', { name, type, team, kind: result });
  };
}
