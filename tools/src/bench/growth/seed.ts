import { dnsTokenStore, teamStore, userStore } from '@corral/auth';
import { connectPrisma, type Pool, type Queryable } from '@corral/database';
import { clusterSpec, signInAs } from '../clusters/cluster-rig.js';
import { INVITATIONS, send, TEAM } from './call.js';
import { dimensions } from './dimensions.js';
import { NEWEST_ENTRY } from './fill-records.js';
import type { Installation, PairRig } from './pair-rig.js';
import { type Asked, type Seeded, type Site, sender } from './site.js';

const CLUSTERS = 10;

/** The measured team as its people would make it, and the small size of everything else. */
export async function seedTeam({ pool, databaseUrl, urls }: Installation, rig: PairRig): Promise<Seeded> {
  const dnsToken = await makeTeam(databaseUrl);
  const [admin, guest] = [
    await signInAs(urls.cluster, 'admin@acme.test'),
    await signInAs(urls.cluster, 'guest@new.test'),
  ];
  const empty = { team: 'acme', teamNumber: 0, cookies: { admin, guest }, dnsToken, ids: {}, newestAt: new Date(0) };
  await declare(sender({ urls, seeded: empty }), rig.cloudToken);
  await withFastFill(pool, async (db) => {
    for (const statement of furtherRows) await db.query(statement);
    // Before the teams, whose rows name nothing of it, and after them the rows of theirs.
    const [teams, ...others] = [...dimensions].reverse();
    for (const each of [teams, ...others]) await each?.fill(db, 0, each.seeded);
  });
  await pool.query('VACUUM ANALYZE');
  const { rows } = await pool.query<{ ids: Record<string, string>; teamNumber: number; newestAt: Date }>(readIds);
  const [row] = rows;
  if (row === undefined) throw new Error('The seed is incomplete');
  return { ...empty, ...row };
}

async function makeTeam(databaseUrl: string): Promise<string> {
  const prisma = connectPrisma(databaseUrl);
  try {
    const team = await teamStore(prisma).createTeam('acme');
    const users = userStore(prisma);
    await users.saveMember(team, await users.createUser({ email: 'admin@acme.test' }), 'admin');
    await users.saveMember(team, await users.createUser({ email: 'mate@acme.test' }), 'member');
    await users.createUser({ email: 'guest@new.test' });
    const tokens = dnsTokenStore(prisma);
    await tokens.issueToken(team, { name: 'rare' });
    return (await tokens.issueToken(team, { name: 'main' })).token;
  } finally {
    await prisma.$disconnect();
  }
}

async function declare(request: Site['send'], cloudToken: string): Promise<void> {
  const asked = (...of: Parameters<typeof send>): Asked => send(...of)({} as Site, 0);
  const connection = { spec: { provider: 'hcloud', token: cloudToken } };
  for (const ref of ['main', 'spare']) await request(asked('PUT', `${TEAM}/connections/${ref}/`, connection));
  for (let index = 0; index < CLUSTERS; index += 1) {
    await request(asked('PUT', `${TEAM}/clusters/c${index}/`, { spec: clusterSpec(3) }));
  }
  await request(asked('PUT', `${TEAM}/service-accounts/ci/`, { spec: { role: 'member' } }));
  await request(asked('POST', `${TEAM}/service-accounts/ci/tokens/`, { expiresInDays: 90 }));
  const trust = {
    issuer: 'https://forge.test',
    audience: 'corral',
    claims: { sub: 'repo:acme/web' },
    serviceAccount: 'ci',
  };
  await request(asked('PUT', `${TEAM}/trusted-issuers/forge/`, { spec: trust }));
  await request(asked('POST', INVITATIONS, { email: 'guest@new.test', role: 'member' }));
}

/** What only a reconciler or time makes, and ids of the logs that count down from far above. */
const furtherRows: readonly string[] = [
  `SELECT setval('dns_audit_entry_id_seq', ${2 * NEWEST_ENTRY}), setval('audit_entry_id_seq', ${2 * NEWEST_ENTRY})`,
  `INSERT INTO usage_hour (team_id, hour, is_final, requests, writes, refused_writes, records, records_limit, clusters)
   SELECT id, date_trunc('hour', now()) - h * interval '1 h', h > 1, 100, 10, 1, 20, 200, 1
   FROM team, generate_series(0, 2159) AS h WHERE slug = 'acme'`,
  `INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind, phase)
   SELECT team_id, id, 4711, 'cx22', 'hel1', 'x86', 'cloud', 'Adopted' FROM connection WHERE ref = 'main'`,
];

const readIds = `
  SELECT team.number AS "teamNumber",
         (SELECT synced_at - interval '1 day' FROM dns_zone WHERE NOT of_demos) AS "newestAt",
         json_build_object(
           'cluster', (SELECT id FROM cluster WHERE team_id = team.id AND name = 'c0'),
           'operation', (SELECT id FROM operation WHERE team_id = team.id ORDER BY created_at LIMIT 1),
           'dnsToken', (SELECT id FROM dns_token WHERE team_id = team.id AND name = 'main'),
           'mate', (SELECT membership.number FROM membership JOIN app_user ON app_user.id = user_id
                    WHERE email = 'mate@acme.test'),
           'invitation', (SELECT id FROM invitation WHERE team_id = team.id AND email = 'guest@new.test'),
           'action', (SELECT id::text FROM dns_action WHERE team_id = team.id ORDER BY id DESC LIMIT 1)) AS ids
  FROM team WHERE slug = 'acme'`;

/**
 * Runs `fill` on a connection on which Postgres checks no references, runs no triggers and waits for no disk. What it wrote is
 * durable afterwards, as other rows are.
 */
export async function withFastFill(pool: Pool, fill: (db: Queryable) => Promise<void>): Promise<void> {
  const db = await pool.connect();
  try {
    await db.query(
      `SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '512MB'`,
    );
    await fill(db);
    await db.query('CHECKPOINT');
  } finally {
    db.release(true);
  }
}

/** Fills tables, whose indexes are made afterwards if that is faster. */
export async function withoutIndexes(
  db: Queryable,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  const { rows } = await db.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
     FROM pg_index LEFT JOIN pg_constraint ON conindid = indexrelid
     WHERE indrelid = ANY($1::text[]::regclass[]) AND pg_constraint.oid IS NULL ORDER BY 1`,
    [tables],
  );
  for (const { name } of rows) await db.query(`DROP INDEX ${name}`);
  await fill();
  for (const { definition } of rows) await db.query(definition);
}
