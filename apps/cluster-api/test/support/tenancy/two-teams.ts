import { randomBytes, randomInt } from 'node:crypto';
import { dnsTokenStore } from '@corral/auth';
import { aPool } from '../a-cluster.js';
import type { TestUser } from '../checked-client.js';
import { addConnection, declare, runningCluster } from '../clusters.js';
import { givenApiEntry, givenDnsEntry, givenZone } from '../given-audit.js';
import type { TestClusterApi, TestTeam } from '../start-cluster-api.js';

/** A team with resources of every kind. */
export interface FurnishedTeam {
  readonly team: TestTeam;
  readonly number: string;
  /** Names of its resources, by path parameter. */
  readonly handles: Readonly<Record<string, readonly string[]>>;
  /** Texts that no answer to others may contain unless the request contained them. */
  readonly secrets: readonly string[];
}

/**
 * Creates clusters, pools, connections, operations, tokens, invitations, servers and log entries, all with a marker.
 */
export async function furnish(t: TestClusterApi, team: TestTeam): Promise<FurnishedTeam> {
  const marker = `only-${team.slug}-${randomBytes(8).toString('hex')}`;
  const { slug } = team;
  for (const ref of ['main', `${slug}-two`]) await addConnection(t, team, { ref });
  const nodePools = [aPool(), aPool({ name: `${slug}-pool` })];
  for (const name of ['both', `${slug}-web`, `${slug}-batch`]) await runningCluster(t, team, name, { nodePools });
  await declare(team, `${slug}-failed`);
  const token = (await dnsTokenStore(t.db).issueToken(team, { name: marker })).record.id;
  await givenZone(t);
  await givenDnsEntry(t, team, { tokenId: token, requestBody: JSON.stringify({ marker }), upstreamBody: marker });
  await givenApiEntry(t, team, { name: `${slug}-web`, detail: { marker } });
  const invited = { email: `${marker}@invited.test`, role: 'member', invitedBy: team.admin.id } as const;
  await t.db.invitation.create({
    data: { teamId: team.id, ...invited, expiresAt: new Date(Date.now() + FORTNIGHT_MS) },
  });
  await t.createAccount(team, `${slug}-ci`, { role: 'member' });
  await team.asAdmin
    .put(`/trusted-issuers/${slug}-issuer/`)
    .send({
      spec: {
        issuer: 'https://id.test',
        audience: marker,
        claims: { sub: `${marker}` },
        serviceAccount: `${slug}-ci`,
      },
    })
    .expect(201);
  await team.asAdmin
    .put(`/webhooks/${slug}-hook/`)
    .send({ spec: { url: `https://hooks.test/${marker}` } })
    .expect(201);
  const spare = await t.createUser(`spare@${slug}.test`, [{ team, role: 'member' }]);
  const serverId = randomInt(1, 1_000_000_000);
  await t.pool.query(
    `INSERT INTO adopted_server (team_id, connection_id, server_id, name, server_type, location, architecture, server_kind,
                                 phase, message)
     SELECT team_id, id, $2, $3, 'cx22', 'hel1', 'amd64', 'cloud', 'Ready', $3 FROM connection
     WHERE team_id = $1 AND ref = 'main'`,
    [team.id, serverId, marker],
  );
  await mark(t, team, marker);
  return {
    team,
    number: String((await t.db.team.findUniqueOrThrow({ where: { id: team.id } })).number),
    handles: { ...(await handlesOf(t, team, spare)), server_id: [String(serverId)] },
    secrets: [marker, ...(await idsOf(t, team))],
  };
}

const FORTNIGHT_MS = 14 * 86_400_000;

/** Writes the marker into every visible text that requests cannot name. */
async function mark({ pool }: TestClusterApi, team: TestTeam, marker: string): Promise<void> {
  const update = (text: string) => pool.query(text, [team.id, marker]);
  await update(`UPDATE team SET name = $2 WHERE id = $1`);
  await update(`UPDATE app_user SET first_name = $2, last_name = $2, display_name = $2
                WHERE id IN (SELECT user_id FROM membership WHERE team_id = $1)`);
  await update(`UPDATE connection SET name = $2, provider_config = jsonb_build_object('marker', $2::text),
                  project = jsonb_build_object('name', $2::text) WHERE team_id = $1`);
  await update(`UPDATE cluster SET seed_name = $2, conditions = conditions || jsonb_build_array(jsonb_build_object(
                  'type', 'Marked', 'status', 'True', 'reason', 'Marked', 'message', $2::text,
                  'lastTransitionTime', '2026-11-21T00:00:00.000Z')) WHERE team_id = $1`);
  await update(`UPDATE operation SET state = 'failed', finished_at = clock_timestamp(), error = jsonb_build_object('code', 'internal_error',
                  'message', $2::text, 'retryable', true, 'hint', $2::text) WHERE team_id = $1 AND state IN ('queued', 'running')`);
}

/**
 * Names for the paths, filters and bodies of the route table.
 *
 * @param spare a member who may be removed. The others make the requests
 */
async function handlesOf(
  { pool }: TestClusterApi,
  team: TestTeam,
  spare: Pick<TestUser, 'id'>,
): Promise<Record<string, string[]>> {
  const read = async (text: string): Promise<string[]> =>
    (await pool.query<{ handle: string }>(text, [team.id])).rows.map(({ handle }) => String(handle));
  const names = await read('SELECT name AS handle FROM cluster WHERE team_id = $1');
  const { rows: members } = await pool.query<{ number: number }>('SELECT number FROM membership WHERE user_id = $1', [
    spare.id,
  ]);
  const refs = await read('SELECT ref AS handle FROM connection WHERE team_id = $1');
  return {
    name: names,
    cluster: names,
    pool: await read('SELECT DISTINCT name AS handle FROM node_pool WHERE team_id = $1'),
    ref: refs,
    account: await read('SELECT name AS handle FROM service_account WHERE team_id = $1'),
    issuer: await read('SELECT name AS handle FROM trusted_issuer WHERE team_id = $1'),
    webhook: await read('SELECT name AS handle FROM webhook WHERE team_id = $1'),
    id: [...(await idsOf({ pool }, team)), ...members.map(({ number }) => String(number))],
    text: [...names, ...refs, team.admin.email, 'user', 'token'],
  };
}

/** Every UUID in the team's rows, in all tables. */
async function idsOf(t: Pick<TestClusterApi, 'pool'>, team: TestTeam): Promise<string[]> {
  const dump = JSON.stringify(await rowsOf(t, team));
  const own = new Set<string>([team.admin.id, team.member.id]);
  const found = dump.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
  return [...new Set(found)].filter((id) => !own.has(id));
}

/** All rows of a team by table: those of all tables with a `team_id` column, and the team itself. */
export async function rowsOf(
  { pool }: Pick<TestClusterApi, 'pool'>,
  team: TestTeam,
): Promise<Record<string, string[]>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'team_id' AND data_type = 'uuid' ORDER BY 1`,
  );
  const found: Record<string, string[]> = {};
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(
      `SELECT t::text AS row FROM ${name} AS t WHERE team_id = $1 ORDER BY 1`,
      [team.id],
    );
    found[name] = rows.map(({ row }) => row);
  }
  const own = await pool.query<{ row: string }>('SELECT t::text AS row FROM team AS t WHERE id = $1', [team.id]);
  return { ...found, team: own.rows.map(({ row }) => row) };
}
