import type { Pool } from '@corral/database';
import { ZONE } from '../rig/services.js';
import { type Size, slugOf } from './sizes.js';

/** Entries are as old as this at most. They are stored for longer by default. */
const OLDEST_DAYS = 200;

const teams = `
  CREATE TEMP TABLE bench_team AS
  SELECT place::int, team.id AS team_id, team.slug, dns_token.id AS token_id, membership.user_id
  FROM unnest($1::text[]) WITH ORDINALITY AS named(slug, place)
  JOIN team USING (slug)
  JOIN dns_token ON dns_token.team_id = team.id
  JOIN membership ON membership.team_id = team.id`;

const moment = `LATERAL (SELECT now() - n * interval '${OLDEST_DAYS} days' / $1::int AS at) AS moment`;
const numbered = 'generate_series($1::int - 1, 0, -1) AS n JOIN bench_team ON place = 1 + n % $2::int';

/** What a completed write leaves. */
const dnsEntries = `
  INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, request_body, request_id,
                               upstream_status, upstream_body, answered, created_at, completed_at)
  SELECT team_id, 'token'::dns_actor, token_id, (SELECT id FROM dns_zone WHERE name = $3), 's' || n % 200 || '.' || slug, 'A',
         CASE n % 3 WHEN 0 THEN 'set_records' WHEN 1 THEN 'add_records' ELSE 'change_ttl' END, 'completed'::dns_audit_state,
         '{"records":[{"value":"192.0.2.1"}]}', 'r-' || n, 201, '{"action":{"id":1,"status":"running"}}', true, at,
         at + interval '90 ms'
  FROM ${numbered}, ${moment}`;

/** What a declaration leaves. */
const apiEntries = `
  INSERT INTO audit_entry (team_id, user_id, action, target_kind, target_id, target_name, request_id, detail, changes, created_at)
  SELECT team_id, user_id, 'cluster.declare', 'Cluster', md5(slug)::uuid, 'c0', 'r-' || n, json_build_object('generation', n)::jsonb,
         '[{"pointer":"/spec/nodePools/0/maximum","from":3,"to":4}]'::jsonb, at
  FROM ${numbered}, ${moment}`;

/** Half of the entries in each of the two logs, of all teams alternately. Checks no references, and waits for no disk. */
export async function fillAudit(pool: Pool, size: Size): Promise<void> {
  const db = await pool.connect();
  try {
    await db.query(
      `SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '512MB'`,
    );
    await db.query(teams, [Array.from({ length: size.teams }, (_, team) => slugOf(team))]);
    const half = Math.floor(size.auditEntries / 2);
    await withoutIndexes(db, async () => {
      await db.query(dnsEntries, [half, size.teams, ZONE]);
      await db.query(apiEntries, [half, size.teams]);
    });
  } finally {
    db.release(true);
  }
}

/** Indexes are made afterwards, which is faster. */
async function withoutIndexes(db: Pick<Pool, 'query'>, fill: () => Promise<void>): Promise<void> {
  const { rows } = await db.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
     FROM pg_index LEFT JOIN pg_constraint ON conindid = indexrelid
     WHERE indrelid IN ('dns_audit_entry'::regclass, 'audit_entry'::regclass) AND pg_constraint.oid IS NULL`,
  );
  for (const { name } of rows) await db.query(`DROP INDEX ${name}`);
  await fill();
  for (const { definition } of rows) await db.query(definition);
}
