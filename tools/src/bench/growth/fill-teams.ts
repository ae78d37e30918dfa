import type { Fill } from './fill-records.js';

/** A team, by its number. */
const id = (of: string, n = 'n'): string => `md5('${of} ' || ${n})::uuid`;

/**
 * Teams with three people each, of whom one has been signed in. Each has a connection, two DNS tokens, a service account, an
 * invitation, a subscription, events and a day of usage.
 */
const teamRows: readonly string[] = [
  `INSERT INTO team (id, slug, number, name, project_name, created_at)
   SELECT ${id('team')}, 'other-' || n, 1000 + n, 'Team ' || n, 't' || lpad(to_hex(n), 7, '0'),
          now() - n * interval '1 min' FROM numbered`,
  `INSERT INTO team_change_lock (team_id) SELECT ${id('team')} FROM numbered ON CONFLICT DO NOTHING`,
  `INSERT INTO app_user (id, number, email, display_name)
   SELECT ${id('person', `n || '-' || p`)}, 1000 + 3 * n + p,
          CASE p WHEN 0 THEN 'admin' WHEN 1 THEN 'mate' ELSE 'third' END || '@other-' || n || '.test', 'Person ' || n
   FROM numbered, generate_series(0, 2) AS p`,
  `INSERT INTO membership (team_id, user_id, number, role)
   SELECT ${id('team')}, ${id('person', `n || '-' || p`)}, 1000 + 3 * n + p,
          CASE p WHEN 0 THEN 'admin' WHEN 1 THEN 'member' ELSE 'viewer' END::team_role
   FROM numbered, generate_series(0, 2) AS p`,
  `INSERT INTO session (user_id, hash, idle_expires_at, expires_at)
   SELECT ${id('person', `n || '-0'`)}, sha256(('session ' || n)::bytea), now() + interval '12 h', now() + interval '7 days'
   FROM numbered`,
  `INSERT INTO connection (id, team_id, ref, name, provider, provider_config, sealed_token, token_key_id, phase, verified_at,
                           project)
   SELECT ${id('connection')}, ${id('team')}, ref, name, provider, provider_config, sealed_token, token_key_id, 'Ready', now(),
          project
   FROM numbered, connection WHERE connection.team_id = (SELECT id FROM team WHERE slug = 'acme') AND ref = 'main'`,
  `INSERT INTO price_list (connection_id, due_at) SELECT ${id('connection')}, now() + interval '1 day' FROM numbered`,
  `INSERT INTO dns_token (team_id, name, hash, scopes, within_types, created_by)
   SELECT ${id('team')}, name, sha256((name || n)::bytea), '{dns}', '{}', ${id('person', `n || '-0'`)}
   FROM numbered, unnest(ARRAY['main', 'rare']) AS name`,
  `INSERT INTO service_account (id, team_id, name, role, clusters, actions, created_by)
   SELECT ${id('account')}, ${id('team')}, 'ci', 'member', '{*}', '{read,change}', ${id('person', `n || '-0'`)} FROM numbered`,
  `INSERT INTO service_account_token (team_id, account_id, hash, created_by, expires_at)
   SELECT ${id('team')}, ${id('account')}, sha256(('account ' || n)::bytea), ${id('person', `n || '-0'`)},
          now() + interval '90 days' FROM numbered`,
  `INSERT INTO invitation (team_id, email, role, invited_by, expires_at)
   SELECT ${id('team')}, 'invited@other-' || n || '.test', 'member', ${id('person', `n || '-0'`)}, now() + interval '14 days'
   FROM numbered`,
  `INSERT INTO subscription (team_id, body, is_active, stated_at) SELECT ${id('team')}, '{}', true, now() FROM numbered`,
  `INSERT INTO team_event (xid, team_id, kind, target_id, target_name, change, created_at)
   SELECT 10, ${id('team')}, 'Cluster', ${id('event', `n || '-' || e`)}::text, 'c' || e, 'changed', now() - e * interval '1 h'
   FROM numbered, generate_series(1, 10) AS e`,
  `INSERT INTO usage_hour (team_id, hour, is_final, requests, writes, refused_writes, records, records_limit, clusters)
   SELECT ${id('team')}, date_trunc('hour', now()) - h * interval '1 h', h > 1, 100, 10, 1, 20, 200, 1
   FROM numbered, generate_series(0, 23) AS h`,
  `INSERT INTO dns_request_count (team_id, minute, process_id, count)
   SELECT ${id('team')}, date_trunc('minute', now()) - m * interval '1 min', ${id('process', `'1'`)}, 10
   FROM numbered, generate_series(0, 9) AS m`,
];

const rowsPerNumber =
  (statements: readonly string[]): Fill =>
  async (db, from, to) => {
    for (const statement of statements) {
      const at = statement.indexOf('SELECT');
      const numbered = 'WITH numbered AS (SELECT n FROM generate_series($1::int, $2::int - 1) AS n)';
      await db.query(`${statement.slice(0, at)}${numbered} ${statement.slice(at)}`, [from, to]);
    }
  };

export const otherTeams: Fill = rowsPerNumber(teamRows);

interface Clusters {
  /** SQL expressions with the number `n`. */
  readonly teamId: string;
  readonly connectionId: string;
  /** Distinguishes their ids. */
  readonly of: string;
}

/** Clusters with two pools, and five operations and events each, as the one that the measured team declared. */
const clusterRows = ({ teamId, connectionId, of }: Clusters): readonly string[] => {
  const name = `'m' || lpad(n::text, 5, '0')`;
  return [
    `INSERT INTO cluster (id, team_id, name, shoot_name, connection_id, spec, desired_hash, started_at, observed_generation,
                          applied_generation, phase, seed_name, conditions, created_at)
     SELECT ${id(of)}, ${teamId}, ${name}, '${of[0]}' || lpad(to_hex(n), 7, '0'), ${connectionId}, spec, desired_hash, now(), 1,
            1, 'Ready', 'seed', conditions, now() - n * interval '1 min'
     FROM numbered, cluster WHERE team_id = (SELECT id FROM team WHERE slug = 'acme') AND name = 'c0'`,
    `INSERT INTO node_pool (team_id, cluster_id, name, position, source, machine_type, image, minimum, maximum, public_ip)
     SELECT ${teamId}, ${id(of)}, 'pool-' || p, p, 'managed', 'cpx31', '{}', 1, 3, true
     FROM numbered, generate_series(0, 1) AS p`,
    `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, progress, desired_hash,
                            created_at, updated_at, finished_at, is_counted)
     SELECT ${teamId}, 'cluster.update', 'Cluster', ${id(of)}, ${name}, g,
            CASE g WHEN 3 THEN 'failed' ELSE 'succeeded' END::operation_state, CASE g WHEN 3 THEN 40 ELSE 100 END, 'sha256:0',
            at, at, at, true
     FROM numbered, generate_series(1, 5) AS g,
          LATERAL (SELECT now() - interval '1 day' - n * interval '1 min' - g * interval '1 s' AS at) AS moment`,
    `INSERT INTO team_event (xid, team_id, kind, target_id, target_name, change, created_at)
     SELECT 10, ${teamId}, 'Cluster', ${id(of)}::text, ${name}, 'changed', now() - e * interval '1 h'
     FROM numbered, generate_series(1, 5) AS e`,
  ];
};

/** Clusters of the ten other teams, in turns. */
export const clustersOfOthers: Fill = rowsPerNumber(
  clusterRows({ teamId: id('team', 'n % 10'), connectionId: id('connection', 'n % 10'), of: 'others' }),
);

const acme = `(SELECT id FROM team WHERE slug = 'acme')`;
/** Clusters of the measured team. */
export const ownClusters: Fill = rowsPerNumber(
  clusterRows({
    teamId: acme,
    connectionId: `(SELECT id FROM connection WHERE team_id = ${acme} AND ref = 'main')`,
    of: 'team',
  }),
);
