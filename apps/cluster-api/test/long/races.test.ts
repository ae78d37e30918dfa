import type { NodePoolSpec } from '@corral/contracts';
import { createHealth, createMetrics, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Response } from 'supertest';
import { buildApp } from '../../src/build-app.js';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ApiClient, checkedClient } from '../support/checked-client.js';
import {
  addConnection,
  type ClusterTest,
  converge,
  declare,
  freshName,
  startWithConnection,
} from '../support/clusters.js';
import { givenServers } from '../support/given-servers.js';
import { listen } from '../support/listen.js';
import { aSubscription, signed } from '../support/sign-billing.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status).sort();

describe('concurrent changes', () => {
  let t: ClusterTest;
  let name: string;
  const path = (rest = '') => `/clusters/${name}/${rest}`;
  const put = (spec: object, of = name) => t.acme.asMember.put(`/clusters/${of}/`).send({ spec });
  const stored = async () => {
    const cluster = await t.db.cluster.findUnique({
      where: { teamId_name: { teamId: t.acme.id, name } },
      include: { nodePools: true },
    });
    const operations = await t.db.operation.findMany({ where: { targetName: name }, orderBy: { generation: 'asc' } });
    return { cluster, operations };
  };

  beforeAll(async () => {
    t = await startWithConnection();
  });
  afterAll(() => t.close());
  beforeEach(() => {
    name = freshName(t);
  });

  it('are serialized when they differ, and leave one open operation', async () => {
    const answers = await Promise.all(
      times(20, (index) => put(aClusterSpec({ nodePools: [aPool({ maximum: index + 1 })] }))),
    );

    expect(statuses(answers)).toEqual(times(20, () => 202));
    const { cluster, operations } = await stored();
    expect(operations.map(({ generation }) => generation)).toEqual(times(20, (index) => index + 1));
    expect(operations.map(({ state }) => state)).toEqual([...times(19, () => 'superseded'), 'queued']);
    expect(cluster?.generation).toBe(20);
    const newest = answers.find(({ body }) => body.resource.metadata.generation === 20);
    expect(cluster?.nodePools[0]?.maximum).toBe(newest?.body.resource.spec.nodePools[0].maximum);
    expect(cluster?.desiredHash).toBe(newest?.body.operation.desiredHash);
  });

  it('with the same tag have one winner', async () => {
    await t.clusters.running(name);
    const { etag } = (await t.acme.asMember.get(path())).headers;

    const answers = await Promise.all(
      times(10, (index) =>
        put(aClusterSpec({ nodePools: [aPool({ maximum: 10 + index })] })).set('If-Match', etag as string),
      ),
    );

    expect(statuses(answers)).toEqual([202, ...times(9, () => 412)]);
  });

  it('never remove the last pool of a running cluster', async () => {
    await t.clusters.running(name, { nodePools: times(4, (index) => aPool({ name: `p${index}` })) });

    const answers = await Promise.all(times(4, (index) => t.acme.asMember.delete(path(`node-pools/p${index}/`))));

    expect(statuses(answers)).toEqual([204, 204, 204, 422]);
    expect((await stored()).cluster?.nodePools).toHaveLength(1);
  });

  it('that declare and delete leave either a consistent cluster or none', async () => {
    await t.clusters.declare(name);

    const answers = await Promise.all([
      put(aClusterSpec({ plan: 'annual' })),
      t.acme.asMember.delete(path()),
      put(aClusterSpec({ plan: 'monthly' })),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([202, 204, 202]);
    const { cluster, operations } = await stored();
    const open = operations.filter(({ state }) => state === 'queued');
    expect(open).toHaveLength(cluster === null ? 0 : 1);
    expect(open[0]?.targetId).toBe(cluster?.id);
    expect(open[0]?.desiredHash).toBe(cluster?.desiredHash);
  });

  it('never exceed the quota of clusters', async () => {
    const before = await t.db.cluster.count({ where: { teamId: t.acme.id } });
    await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: before + 3 } });
    try {
      const answers = await Promise.all(times(10, (index) => put(aClusterSpec(), `${name}-${index}`)));

      expect(statuses(answers)).toEqual([202, 202, 202, ...times(7, () => 403)]);
      const refused = answers.find(({ status }) => status === 403);
      expect(refused?.body.code).toBe('quota_exceeded');
      expect(await t.db.cluster.count({ where: { teamId: t.acme.id } })).toBe(before + 3);
    } finally {
      await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: 1_000 } });
    }
  });

  it('that delete a connection and declare a cluster on it leave both or neither', async () => {
    const refs = times(8, (index) => `${name}-${index}`);
    await Promise.all(refs.map((ref) => addConnection(t, t.acme, { ref })));

    const outcomes = await Promise.all(
      refs.map(async (ref) =>
        statuses(
          await Promise.all([
            put(aClusterSpec({ connectionRef: ref }), ref),
            t.acme.asAdmin.delete(`/connections/${ref}/`),
          ]),
        ).join(),
      ),
    );

    for (const outcome of outcomes) expect(['202,409', '204,422']).toContain(outcome);
  });
});

describe('concurrent changes of all kinds in two processes', () => {
  const SECRET = 'secret of the billing system';
  const ROUNDS = 3;

  let t: TestClusterApi;
  /** Two processes of the service. Each schedules its own changes. Only locks serialize those of both. */
  let processes: ApiClient[];

  beforeAll(async () => {
    t = await startClusterApi({
      config: { gardenFeatures: new Set(['adopted-nodes'] as const), billingSecrets: [SECRET] },
    });
    const health = createHealth({ checks: {}, log: silentLog });
    const other = buildApp({ ...t.deps, metrics: createMetrics({ service: 'test' }), health });
    processes = [t.api, checkedClient(other, PUBLIC_URL)];
    await t.db.team.updateMany({ data: { clustersMax: 1_000 } });
    for (const team of [t.acme, t.globex]) {
      await addConnection(t, team);
      await givenServers(t, team, 8);
      for (const name of ['one', 'two', 'three']) await declare(team, name);
      await converge(t, team, 'one');
    }
  });
  afterAll(() => t.close());

  const own = (maximum: number) => aPool({ name: 'own', source: 'pooled', machineType: 'cx22', minimum: 0, maximum });
  const connection = (token: string) => ({ spec: { name: 'main', provider: 'hcloud', providerConfig: {}, token } });

  /** The requests of members. `n` varies their content. */
  const requests = (api: ApiClient, team: TestTeam, n: number): (() => PromiseLike<Sent>)[] => {
    const [member, admin] = [api.as(team.member), api.as(team.admin)];
    const cluster = (name: string, rest = '') => team.path(`/clusters/${name}/${rest}`);
    const name = ['one', 'two', 'three'][n % 3] as string;
    const pools = (...nodePools: NodePoolSpec[]) => ({ spec: aClusterSpec({ nodePools }) });
    return [
      () => member.put(cluster(name)).send(pools(aPool({ maximum: 1 + (n % 5) }), own(n % 3))),
      () => member.put(cluster(`new-${n}`)).send(pools(aPool(), own(1))),
      () => member.delete(cluster(`new-${n - 1}`)),
      () => member.put(cluster(name, 'node-pools/own/')).send({ spec: own(n % 4) }),
      () => member.delete(cluster(name, 'node-pools/own/')),
      () => member.post(cluster(name, n % 2 === 0 ? 'hibernate/' : 'resume/')),
      () => member.post(cluster('one', 'kubeconfig/')),
      () => admin.put(team.path('/connections/main/')).send(connection(`token ${n}`)),
      () => admin.put(team.path(`/connections/ref-${n % 2}/`)).send(connection('token')),
      () => admin.delete(team.path(`/connections/ref-${n % 2}/`)),
      () => member.post(team.path('/dns-tokens/')).send({ name: `token ${n}` }),
      () => admin.put(`/a/${team.slug}/team/api/`).send({ name: `Team ${n}` }),
      () => admin.post(`/a/${team.slug}/team/api/invitations/`).send({ email: `new-${n}@${team.slug}.test` }),
      () => sendBillingEvent(api, team, n),
      () => removeMember(api, team, n),
    ];
  };
  type Sent = Pick<Response, 'status' | 'text'>;

  function sendBillingEvent(api: ApiClient, { slug }: TestTeam, n: number) {
    const stated_at = new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString();
    const body = JSON.stringify({ id: `evt_${slug}_${n}`, team: slug, stated_at, subscription: aSubscription() });
    const headers = { 'Content-Type': 'application/json', 'Corral-Signature': signed(body, SECRET) };
    return api.post('/billing/webhook/').set(headers).send(body);
  }

  /** Adds a member with a DNS token and removes them. */
  async function removeMember(api: ApiClient, team: TestTeam, n: number) {
    const user = await t.createUser(`leaves-${n}-${Math.random()}@${team.slug}.test`, [{ team, role: 'member' }]);
    await api.as(user).post(team.path('/dns-tokens/')).send({ name: 'own' });
    const { number } = await t.db.membership.findFirstOrThrow({ where: { teamId: team.id, userId: user.id } });
    return api.as(team.admin).delete(`/a/${team.slug}/team/api/members/${number}/`);
  }

  it('never deadlock', async () => {
    const answers: Sent[] = [];
    const clients = processes.flatMap((api, process) =>
      [t.acme, t.globex].flatMap((team) =>
        requests(api, team, 0).map(async (_, kind) => {
          for (let round = 0; round < ROUNDS; round += 1) {
            answers.push(await (requests(api, team, round + process)[kind] as () => PromiseLike<Sent>)());
          }
        }),
      ),
    );
    await Promise.all(clients);

    expect(answers.filter(({ status }) => status >= 500).map(({ text }) => text)).toEqual([]);
    expect(statuses(answers)).toEqual(expect.arrayContaining([200, 201, 202, 204]));
  });
});

describe('a team whose changes are locked by another process', () => {
  /** Holds the lock on a team's changes, as another process would. @returns a function that releases it */
  async function hold({ pool, acme }: TestClusterApi): Promise<() => Promise<void>> {
    const holder = await pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM team_change_lock WHERE team_id = $1 FOR UPDATE', [acme.id]);
    return async () => {
      await holder.query('COMMIT');
      holder.release();
    };
  }
  let t: ClusterTest;
  afterEach(() => t.close());

  it('gets an error that names the other replica, and nothing has changed', async () => {
    t = await startWithConnection({ lockTimeoutMs: 50 });
    const release = await hold(t);
    const declareIt = () => t.acme.asMember.put('/clusters/web/').send({ spec: aClusterSpec() });
    const { status, headers, body } = await Promise.resolve(declareIt()).finally(release);

    expect([status, body.code, headers['retry-after']]).toEqual([503, 'service_unavailable', '5']);
    expect(body.detail).toMatch(/^Nothing was changed: another change of the team/);
    await declareIt().expect(202);
  });

  it('drops the waiting change of a disconnected client', async () => {
    t = await startWithConnection();
    const served = await listen(t.app);
    const put = (name: string, signal: AbortSignal | null = null) =>
      fetch(`${served.url}${t.acme.path(`/clusters/${name}/`)}`, {
        method: 'PUT',
        headers: { Cookie: t.acme.member.cookie, 'Content-Type': 'application/json' },
        body: JSON.stringify({ spec: aClusterSpec() }),
        signal,
      });
    const countWaiting = async () =>
      Number(/^corral_changes_waiting\{[^}]*\} (\d+)$/m.exec(await t.deps.metrics.registry.metrics())?.[1]);
    const locks = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const release = await hold(t);
    const leaving = new AbortController();
    const begun = put('begun');
    await waitFor('one change to wait for a lock', async () => (await t.pool.query(locks)).rowCount === 1);
    const left = put('left', leaving.signal).catch(() => 'gone');
    await waitFor('the other to wait for its turn', async () => (await countWaiting()) === 1);
    leaving.abort();
    await waitFor('it to be given up', async () => (await countWaiting()) === 0);
    await release();

    expect([(await begun).status, await left]).toEqual([202, 'gone']);
    expect((await put('after')).status).toBe(202);
    const rows = await t.db.cluster.findMany({ where: { teamId: t.acme.id }, orderBy: { name: 'asc' } });
    expect(rows.map(({ name }) => name)).toEqual(['after', 'begun']);
    await served.close();
  });
});
