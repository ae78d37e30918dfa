import type { Queryable } from '@corral/database';

/*
 * Rows as the product writes them, numbered, so that more can be added later. Everything with a number below the small size is the
 * same in both installations, and what comes later is older.
 */

/** Adds the rows from one number to the next. */
export type Fill = (db: Queryable, from: number, to: number) => Promise<void>;

const insertSets = `
  INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, first_seen_at)
  SELECT zone.id, named.name, named.type, named.owner, 1,
         json_build_object('id', named.name || '/' || named.type, 'name', named.name, 'type', named.type, 'ttl', 300,
                           'labels', json_build_object('env', CASE WHEN n % 10 = 0 THEN 'prod' ELSE 'test' END),
                           'protection', json_build_object('change', false),
                           'records', json_build_array(json_build_object('value', named.value, 'comment', '')),
                           'zone', zone.id)::text,
         now() - n * interval '1 s'
  FROM dns_zone AS zone,
       LATERAL (SELECT n, owner, 's' || n || '.' || owner AS name,
                       CASE WHEN n % 20 = 7 THEN 'TXT' ELSE 'A' END AS type,
                       CASE WHEN n % 20 = 7 THEN '"text"' ELSE '192.0.2.1' END AS value
                FROM (SELECT n, coalesce($3, 'other-' || n % 1000) AS owner
                      FROM generate_series($1::int, $2::int - 1) AS n) AS numbered) AS named
  WHERE NOT zone.of_demos`;

/** Triggers do not run during a fill. */
const recount = 'SELECT dns_rrset_recount()';

/** Record sets of a thousand other labels. */
export const setsOfOthers: Fill = async (db, from, to) => {
  await db.query(insertSets, [from, to, null]);
  await db.query(recount);
};

/** Record sets of the measured team. */
export const ownSets: Fill = async (db, from, to) => {
  await db.query(insertSets, [from, to, 'acme']);
  await db.query(recount);
};

/** Ids of the log count down from here, so that the rows that are added are older, as those of a log. */
export const NEWEST_ENTRY = 20_000_000;
/** From 400 days, as long as entries are kept, for ten million entries. */
const SECONDS_APART = 400 * 86_400 * 1e-7 * 2;

/** Numbers of the few entries that filters look for in vain elsewhere. All are among the newest ten thousand entries. */
const rare = (first: number): string => `n IN (${first}, ${first + 2_000}, ${first + 4_000})`;

/** Never of the future, nor of the last hour, in which some of them would count against limits. */
const createdAt = `(SELECT synced_at FROM dns_zone WHERE NOT of_demos) - interval '1 day' - n * interval '${SECONDS_APART} s'`;

/** Of `$3`, the slug of a team. `OFFSET 0`: looked up once, not for each row. */
const actors = `(
  SELECT team.id AS team_id, slug, (SELECT id FROM dns_token WHERE team_id = team.id AND name = 'main') AS token_id,
         (SELECT id FROM dns_token WHERE team_id = team.id AND name = 'rare') AS rare_token_id,
         (SELECT id FROM app_user WHERE email = 'admin@' || slug || '.test') AS user_id,
         (SELECT id FROM app_user WHERE email = 'mate@' || slug || '.test') AS rare_user_id,
         (SELECT id FROM dns_zone WHERE NOT of_demos) AS zone_id
  FROM team WHERE slug = $3 OFFSET 0) AS of_team`;

const entryId = `${NEWEST_ENTRY} - 2 * n - $4::int`;

const insertDnsEntries = `
  INSERT INTO dns_audit_entry (id, team_id, actor, token_id, zone_id, name, type, operation, state, request_body, request_id,
                               refusal_code, upstream_status, upstream_body, answered, created_at, completed_at)
  SELECT ${entryId}, team_id, CASE WHEN state = 'observed' THEN 'upstream' ELSE 'token' END::dns_actor,
         CASE WHEN state = 'observed' THEN NULL WHEN ${rare(150)} THEN rare_token_id ELSE token_id END,
         zone_id, CASE WHEN ${rare(200)} THEN 'rare' ELSE 's' || n % 25 END || '.' || slug,
         CASE WHEN ${rare(300)} THEN 'CNAME' WHEN n % 10 = 3 THEN 'TXT' ELSE 'A' END,
         CASE WHEN ${rare(400)} THEN 'delete' WHEN n % 4 = 0 THEN 'add_records' WHEN n % 4 = 1 THEN 'remove_records'
              WHEN n % 4 = 2 THEN 'change_ttl' ELSE 'set_records' END,
         state::dns_audit_state, '{"records":[{"value":"192.0.2.1"}]}', 'r-' || n,
         CASE WHEN state = 'unsent' THEN 'rate_limit_exceeded' END, CASE WHEN state = 'completed' THEN 201 END,
         CASE WHEN state = 'completed' THEN '{"action":{"id":1,"status":"running"}}' END, true, created_at,
         created_at + interval '90 ms'
  FROM (SELECT n, ${createdAt} AS created_at,
               CASE WHEN ${rare(500)} THEN 'settled' WHEN n % 20 = 7 THEN 'refused' WHEN n % 20 = 11 THEN 'unsent'
                    WHEN n % 25 = 13 THEN 'observed' ELSE 'completed' END AS state
        FROM generate_series($2::int - 1, $1::int, -1) AS n) AS numbered, ${actors}`;

/** The upstream's action of every fifth write. */
const insertActions = `
  INSERT INTO dns_action (id, team_id, audit_entry_id, status, body, started_at, checked_at)
  SELECT ${entryId}, team_id, ${entryId}, 'success',
         json_build_object('id', ${entryId}, 'command', 'set_rrset_records', 'status', 'success', 'progress', 100,
                           'started', created_at, 'finished', created_at, 'resources', json_build_array(), 'error', NULL)::text,
         created_at, created_at
  FROM (SELECT n, ${createdAt} AS created_at FROM generate_series($2::int - 1, $1::int, -1) AS n WHERE n % 5 = 0) AS numbered,
       ${actors}`;

const insertApiEntries = `
  INSERT INTO audit_entry (id, team_id, user_id, action, target_kind, target_id, target_name, request_id, detail, changes,
                           created_at)
  SELECT ${entryId}, of_team.team_id, CASE WHEN ${rare(250)} THEN rare_user_id ELSE user_id END,
         CASE WHEN ${rare(350)} THEN 'cluster.hibernate' WHEN ${rare(450)} THEN 'member.remove'
              WHEN n % 3 = 0 THEN 'cluster.declare' WHEN n % 3 = 1 THEN 'dns_token.create' ELSE 'kubeconfig.issue' END,
         CASE WHEN n % 3 = 1 THEN 'DnsToken' ELSE 'Cluster' END, coalesce(cluster.id, md5(n::text)::uuid),
         CASE WHEN ${rare(550)} THEN 'rare' ELSE 'c' || n % 10 END, 'r-' || n,
         json_build_object('generation', n, 'issued', n NOT IN (650, 2651, 4652))::jsonb,
         CASE WHEN n % 3 = 0 THEN '[{"pointer":"/spec/nodePools/0/maximum","from":3,"to":4}]'::jsonb END, ${createdAt}
  FROM generate_series($2::int - 1, $1::int, -1) AS n CROSS JOIN ${actors}
  LEFT JOIN cluster ON cluster.team_id = of_team.team_id AND n % 3 <> 1 AND cluster.name = 'c' || n % 10`;

/** Half of the entries in each of the two logs. Rows are added in the order of time, within an addition. */
async function entries(db: Queryable, from: number, to: number, slug: string, offset: 0 | 1): Promise<void> {
  const numbers = [Math.ceil(from / 2), Math.ceil(to / 2), slug, offset];
  for (const insert of [insertDnsEntries, insertActions, insertApiEntries]) await db.query(insert, numbers);
}

/** Entries of the measured team, with the actions of its writes. */
export const ownEntries: Fill = (db, from, to) => entries(db, from, to, 'acme', 1);

/** The same of another team. */
export const entriesOfOthers: Fill = (db, from, to) => entries(db, from, to, 'other-0', 0);
