import { endUser, lastUsedRecorder, userStore } from '@corral/auth';
import { connectPool, inTransaction, type Pool, type Queryable } from '@corral/database';
import { createHealth, createMetrics, silentLog } from '@corral/service';
import { patientPool } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildApp } from '../../src/build-app.js';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ApiClient, checkedClient } from '../support/checked-client.js';
import { addConnection, converge, declare } from '../support/clusters.js';
import { givenServers } from '../support/given-servers.js';
import { aSubscription, signed } from '../support/sign-billing.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const SECRET = 'secret of the billing system';
const ROUNDS = 3;
const patientTransaction = { timeout: 60_000, maxWait: 60_000 };

let t: TestClusterApi;
/** Two processes of the service. Each schedules its own changes. Only locks serialize those of both. */
let processes: ApiClient[];
let errors: string[];
/** Connections of the other writers. */
let pool: Pool;

beforeAll(async () => {
  t = await startClusterApi({
    config: { gardenFeatures: new Set(['adopted-nodes'] as const), billingSecrets: [SECRET] },
  });
  const other = buildApp({
    ...t.deps,
    metrics: createMetrics({ service: 'test' }),
    health: createHealth({ checks: {}, log: silentLog }),
  });
  processes = [t.api, checkedClient(other, PUBLIC_URL)];
  errors = [];
  pool = connectPool({
    databaseUrl: t.databaseUrl,
    applicationName: 'others',
    connectionsMax: 14,
    ...patientPool,
    onIdleError: () => undefined,
  });
  await t.db.team.updateMany({ data: { clustersMax: 1_000 } });
  for (const team of [t.acme, t.globex]) {
    await addConnection(t, team);
    await givenServers(t, team, 8);
    for (const name of ['one', 'two', 'three']) await declare(t, team, name);
    await converge(t, team, 'one');
    await t.pool.query(
      `INSERT INTO price_list (connection_id, currency, prices, priced_at)
       SELECT id, 'EUR', '{"serverTypes": {}, "primaryIpv4": {}}', now() FROM connection WHERE team_id = $1`,
      [team.id],
    );
  }
});
afterAll(async () => {
  await pool.end();
  await t.close();
});

/** The requests of members. `n` varies their content. */
const requests = (
  api: ApiClient,
  team: TestTeam,
  n: number,
): (() => PromiseLike<{ status: number; text: string }>)[] => {
  const [member, admin] = [api.as(team.member), api.as(team.admin)];
  const cluster = (name: string, rest = '') => team.path(`/clusters/${name}/${rest}`);
  const own = (maximum: number) => aPool({ name: 'own', source: 'pooled', machineType: 'cx22', minimum: 0, maximum });
  const name = ['one', 'two', 'three'][n % 3] as string;
  return [
    () =>
      member
        .put(cluster(name))
        .send({ spec: aClusterSpec({ nodePools: [aPool({ maximum: 1 + (n % 5) }), own(n % 3)] }) }),
    () => member.put(cluster(`new-${n}`)).send({ spec: aClusterSpec({ nodePools: [aPool(), own(1)] }) }),
    () => member.delete(cluster(`new-${n - 1}`)),
    () => member.put(cluster(name, 'node-pools/own/')).send({ spec: own(n % 4) }),
    () => member.delete(cluster(name, 'node-pools/own/')),
    () => member.post(cluster(name, n % 2 === 0 ? 'hibernate/' : 'resume/')),
    () => member.post(cluster('one', 'kubeconfig/')),
    () => admin.put(team.path('/connections/main/')).send({ spec: connection(`token ${n}`) }),
    () => admin.put(team.path(`/connections/ref-${n % 2}/`)).send({ spec: connection('token') }),
    () => admin.delete(team.path(`/connections/ref-${n % 2}/`)),
    () => member.post(team.path('/dns-tokens/')).send({ name: `token ${n}` }),
    () => admin.put(`/a/${team.slug}/team/api/`).send({ name: `Team ${n}` }),
    () =>
      admin.post(`/a/${team.slug}/team/api/invitations/`).send({ email: `new-${n}@${team.slug}.test`, role: 'member' }),
    () => api.post('/billing/webhook/').set(billing(team, n).headers).send(billing(team, n).body),
    () => removeMember(api, team, n),
  ];
};

const connection = (token: string) => ({ name: 'main', provider: 'hcloud', providerConfig: {}, token });

function billing(team: TestTeam, n: number) {
  const stated_at = new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString();
  const body = JSON.stringify({
    id: `evt_${team.slug}_${n}`,
    team: team.slug,
    stated_at,
    subscription: aSubscription(),
  });
  return { body, headers: { 'Content-Type': 'application/json', 'Corral-Signature': signed(body, SECRET) } };
}

/** Adds a member with a DNS token and removes them. */
async function removeMember(api: ApiClient, team: TestTeam, n: number) {
  const user = await t.createUser(`leaves-${n}-${Math.random()}@${team.slug}.test`, [{ team, role: 'member' }]);
  await api.as(user).post(team.path('/dns-tokens/')).send({ name: 'own' });
  const key = { teamId: team.id, userId: user.id };
  const { number } = await t.db.membership.findUniqueOrThrow({ where: { teamId_userId: key } });
  return api.as(team.admin).delete(`/a/${team.slug}/team/api/members/${number}/`);
}

/** Writes of the reconciler, gateways and operators to the same rows, with their lock order. */
const others = (team: TestTeam): ((tx: Queryable) => Promise<unknown>)[] => {
  const main = `(SELECT id FROM connection WHERE team_id = $1 AND ref = 'main')`;
  const run = (tx: Queryable, texts: string[]) =>
    texts.reduce<Promise<unknown>>((before, text) => before.then(() => tx.query(text, [team.id])), Promise.resolve());
  return [
    // The end of a pass over a cluster.
    (tx) =>
      run(tx, [
        `SELECT FROM cluster WHERE team_id = $1 AND name = 'one' FOR UPDATE`,
        `UPDATE operation SET progress = greatest(progress, 1) WHERE team_id = $1 AND target_name = 'one' AND state = 'queued'`,
        `UPDATE cluster SET revision = revision + 1 WHERE team_id = $1 AND name = 'one'`,
      ]),
    // The prices of a connection.
    (tx) =>
      run(tx, [
        `SELECT FROM cluster WHERE connection_id = ${main} ORDER BY id FOR NO KEY UPDATE`,
        `SELECT FROM connection WHERE id = ${main} FOR KEY SHARE`,
        `UPDATE price_list SET priced_at = now() WHERE connection_id = ${main}`,
        `UPDATE cluster SET revision = revision + 1 WHERE connection_id = ${main}`,
      ]),
    // A verification.
    (tx) =>
      run(tx, [
        `UPDATE connection SET verify_at = now() WHERE team_id = $1 AND ref = 'main'`,
        `UPDATE price_list SET due_at = now() WHERE connection_id = ${main}`,
      ]),
    // A pass over a server that becomes a node.
    (tx) =>
      run(tx, [
        `UPDATE adopted_server SET member_of_id = (SELECT cluster_id FROM node_pool WHERE id = node_pool_id)
       WHERE id = (SELECT min(id::text)::uuid FROM adopted_server WHERE team_id = $1 AND node_pool_id IS NOT NULL)`,
      ]),
    // The deletion of a namespace.
    (tx) =>
      run(tx, [
        `UPDATE team SET project_namespace = 'garden' WHERE id = $1`,
        `UPDATE connection SET garden_token_version = 0 WHERE team_id = $1`,
      ]),
    // A write of the gateway.
    (tx) =>
      run(tx, [
        `SELECT FROM team WHERE id = $1 FOR NO KEY UPDATE`,
        `SELECT count(*) FROM dns_audit_entry WHERE team_id = $1`,
      ]),
  ];
};

describe('concurrent changes of all kinds in two processes, together with passes and gateways', () => {
  it('never deadlock', async () => {
    const teams = [t.acme, t.globex];
    const note = (what: string) => (error: unknown) => void errors.push(`${what}: ${error}`);
    const statuses = new Map<number, number>();
    const clients = processes.flatMap((api, process) =>
      teams.flatMap((team) =>
        Array.from({ length: requests(api, team, 0).length }, async (_, kind) => {
          for (let round = 0; round < ROUNDS && errors.length === 0; round += 1) {
            const request = requests(api, team, round + process)[kind] as () => PromiseLike<{
              status: number;
              text: string;
            }>;
            const { status, text } = await request();
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            if (status >= 500) errors.push(text);
          }
        }),
      ),
    );
    let isOver = false;
    const until = async (work: () => Promise<unknown>) => {
      while (!isOver && errors.length === 0) await work();
    };
    const beside = [
      ...teams.flatMap((team) =>
        others(team).map((work, kind) => until(() => inTransaction(pool, work).catch(note(`other ${kind}`)))),
      ),
      until(async () => {
        const recorder = lastUsedRecorder(pool, note('last uses'));
        for (const { id } of await t.db.dnsToken.findMany({ select: { id: true } })) recorder.note(id);
        await recorder.close();
      }),
      until(async () => {
        const memberships = teams.map((team) => ({ team, role: 'member' as const }));
        const user = await t.createUser(`ends-${Math.random()}@acme.test`, memberships);
        for (const team of teams) await t.api.as(user).post(team.path('/dns-tokens/')).send({ name: 'own' });
        const found = (await userStore(t.db).findUser(user.email)) ?? user;
        await t.db.$transaction((tx) => endUser(tx, found, 'ada'), patientTransaction).catch(note('end of a user'));
      }),
    ];
    await Promise.all(clients).finally(() => {
      isOver = true;
    });
    await Promise.all(beside);

    expect(errors).toEqual([]);
    expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining([200, 201, 202, 204]));
  });
});
