import { ownerLabelOf } from '@corral/contracts';
import type { Queryable } from '@corral/database';
import { type Comparison, compareRrset } from './compare-rrset.js';
import { recordCountOf } from './rrset-body.js';

export interface SetKey {
  readonly name: string;
  readonly type: string;
}

/** A record set as it was read upstream. */
export interface FoundRrset extends SetKey {
  /** The upstream's body, null when the set is absent there. */
  readonly found: string | null;
}

/** What was read upstream at one time. */
export interface RrsetReadings {
  readonly zoneId: number;
  /** Postgres' clock before the read was sent. */
  readonly readAt: Date;
  readonly sets: readonly FoundRrset[];
}

export interface ObserveOptions {
  /** An accepted write shows upstream only after its action: for so long afterwards, a read proves nothing. */
  readonly graceMs: number;
  /** Whether a difference is drift, or a set that is mirrored for the first time. */
  readonly purpose: 'import' | 'sync';
}

export type DriftKind = 'added' | 'changed' | 'removed';

/** `skipped`: a write of ours is under way or too fresh for the read to prove anything. */
export type ObserveResult = Exclude<Comparison, 'drifted'> | DriftKind | 'skipped';

/** What came of one set that was read. */
export interface Observation extends SetKey {
  readonly result: ObserveResult;
  /** The slug of the team in whose audit log it is, null where there is none. */
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
 * Brings the mirror of sets to what was read upstream, each unless a write of ours is under way or too fresh for the
 * read to prove anything. Drift leaves an audit entry with the actor `upstream`. As many statements for a page as for
 * one set.
 */
export async function observeRrsets(
  tx: Queryable,
  { zoneId, readAt, sets }: RrsetReadings,
  { graceMs, purpose }: ObserveOptions,
): Promise<Observation[]> {
  if (sets.length === 0) return [];
  // The lock under which writes begin: none can start on these sets until the commit.
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
  if (purpose === 'sync') await recordDrift(tx, zoneId, judged);
  return judged.map(({ name, type, result, owner }) => ({ name, type, result, team: owner?.team ?? null }));
}

export function isDrift(result: ObserveResult): result is DriftKind {
  return result === 'added' || result === 'changed' || result === 'removed';
}

/** By what a set is known within its zone. */
export const idOf = ({ name, type }: SetKey): string => `${name}/${type}`;

function resultOf({ type, found }: FoundRrset, mirrored: string | null): ObserveResult {
  const comparison = compareRrset(type, mirrored, found);
  if (comparison !== 'drifted') return comparison;
  return mirrored === null ? 'added' : found === null ? 'removed' : 'changed';
}

/** An ended demo counts until its label is released: what is found at its name until then is still its own. */
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

export interface ContestedQuery {
  readonly zoneId: number;
  readonly sets: readonly SetKey[];
  readonly readAt: Date;
  readonly graceMs: number;
}

/**
 * The ids of those sets of which a read at that time proves nothing. An accepted write shows when its action has ended,
 * which we may have seen; else it is given the grace. An update has no action: it shows at once.
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
        ...[zoneId, ...columnsOf(kept), kept.map(({ name }) => ownerLabelOf(name))],
        ...[kept.map(({ found }) => recordCountOf(found)), kept.map(({ found }) => found)],
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

/** How many records a set may have is known now. */
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

async function recordDrift(tx: Queryable, zoneId: number, judged: readonly Judged[]): Promise<void> {
  const drifted = judged.filter(({ result }) => isDrift(result));
  if (drifted.length === 0) return;
  await tx.query(
    `INSERT INTO dns_audit_entry (zone_id, name, type, team_id, demo_id, found_body, actor, operation, state,
                                  created_at, completed_at)
     SELECT $1::bigint, *, 'upstream'::dns_actor, 'drift', 'observed'::dns_audit_state, clock_timestamp(), clock_timestamp()
     FROM unnest($2::text[], $3::text[], $4::uuid[], $5::uuid[], $6::text[])`,
    [
      ...[zoneId, ...columnsOf(drifted)],
      ...[drifted.map(({ owner }) => owner?.team_id ?? null), drifted.map(({ owner }) => owner?.demo_id ?? null)],
      drifted.map(({ found }) => found),
    ],
  );
}

export function columnsOf(sets: readonly SetKey[]): [names: string[], types: string[]] {
  return [sets.map(({ name }) => name), sets.map(({ type }) => type)];
}
