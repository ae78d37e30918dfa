import { records, type TestTeam } from './dns-rows.js';
import { DEMO_ZONE, type Reconciling } from './start-reconciling.js';

/** Keeps the demo zone in the mirror without any set. */
export async function mirrorDemoZone({ pool, demoZoneId }: Reconciling): Promise<void> {
  await pool.query(
    `INSERT INTO dns_zone (id, name, body, of_demos, synced_at) VALUES ($1, $2, '{}', true, clock_timestamp())`,
    [demoZoneId, DEMO_ZONE],
  );
}

/** Demos of a team with a token each, that expire after this many seconds. Negative for expired ones. */
export async function addDemos(
  { pool, demoZoneId }: Reconciling,
  team: TestTeam,
  labels: readonly string[],
  expiresInSeconds = -1,
): Promise<void> {
  await pool.query(
    `WITH made AS (
       INSERT INTO demo (zone_id, label, name, team_id, ttl_seconds, created_at, expires_at)
       SELECT $1, label, label, $2, 3600, clock_timestamp() - interval '1 day',
              clock_timestamp() + make_interval(secs => $4)
       FROM unnest($3::text[]) AS label RETURNING id, label
     )
     INSERT INTO dns_token (demo_id, name, hash, scopes, within_types)
     SELECT id, 'demo ' || label, sha256(label::bytea), '{dns}', '{}' FROM made`,
    [demoZoneId, team.id, labels, expiresInSeconds],
  );
}

/** Sets of type A in the demo zone, both upstream and in the mirror. */
export async function putSets({ pool, cloud, demoZoneId }: Reconciling, names: readonly string[]): Promise<void> {
  for (const name of names) cloud.admin.putRrset(DEMO_ZONE, name, 'A', { records: records('192.0.2.1') });
  await pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     SELECT $1, name, 'A', reverse(split_part(reverse(name), '.', 1)), 1,
            json_build_object('id', name || '/A', 'name', name, 'type', 'A', 'ttl', NULL, 'labels', '{}'::json,
                              'protection', '{"change":false}'::json, 'zone', $1::bigint,
                              'records', '[{"value":"192.0.2.1","comment":""}]'::json)
     FROM unnest($2::text[]) AS name`,
    [demoZoneId, names],
  );
}

export async function demoOf({ pool }: Reconciling, label: string) {
  const { rows } = await pool.query(
    `SELECT demo.*, token.revoked_at FROM demo LEFT JOIN dns_token AS token ON token.demo_id = demo.id
     WHERE label = $1 ORDER BY demo.created_at DESC LIMIT 1`,
    [label],
  );
  if (rows[0] === undefined) throw new Error(`There is no demo ${label}.`);
  return rows[0];
}

/** Names in the demo zone upstream, without its own sets at the apex. */
export function upstreamNames({ cloud }: Reconciling): string[] {
  const zone = cloud.admin.zones().find(({ name }) => name === DEMO_ZONE);
  return (zone?.rrsets ?? [])
    .map(({ name }) => name)
    .filter((name) => name !== '@')
    .sort();
}

export async function mirroredNames({ pool, demoZoneId }: Reconciling): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT name FROM dns_rrset WHERE zone_id = $1 AND name <> '@' ORDER BY name`,
    [demoZoneId],
  );
  return rows.map(({ name }) => name);
}

/** Moves all relevant times this many seconds into the past. */
export async function passTime({ pool }: Reconciling, seconds: number): Promise<void> {
  const back = `- make_interval(secs => ${seconds})`;
  await pool.query(`
    UPDATE demo SET created_at = created_at ${back}, expires_at = expires_at ${back}, ended_at = ended_at ${back},
                    clear_at = clear_at ${back};
    UPDATE dns_audit_entry SET lease_until = lease_until ${back}, recheck_at = recheck_at ${back},
                               created_at = created_at ${back}, completed_at = completed_at ${back}`);
}

export async function clearDemoRows({ pool, cloud }: Reconciling): Promise<void> {
  cloud.admin.clearFaults();
  await pool.query('TRUNCATE dns_action, dns_audit_entry, dns_rrset, dns_sync_run, dns_sync_seen');
  await pool.query('DELETE FROM dns_token WHERE demo_id IS NOT NULL; DELETE FROM demo');
  for (const { name, type } of cloud.admin.zones().find((zone) => zone.name === DEMO_ZONE)?.rrsets ?? []) {
    if (name !== '@') cloud.admin.deleteRrset(DEMO_ZONE, name, type);
  }
  cloud.admin.resetCalls();
}

/** Deletions that reached the upstream. */
export function countDeletions({ cloud }: Reconciling): number {
  const { byRoute } = cloud.admin.calls();
  return Object.entries(byRoute).reduce((sum, [route, count]) => sum + (route.startsWith('DELETE ') ? count : 0), 0);
}
