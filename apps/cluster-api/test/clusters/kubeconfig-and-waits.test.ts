import { type IncomingMessage, request } from 'node:http';
import { clusterLimits } from '@corral/contracts';
import { GardenError, type GardenErrorKind } from '@corral/garden';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addConnection,
  type ClusterTest,
  declare,
  endOperations,
  freshName,
  runningCluster,
  startWithConnection,
} from '../support/clusters.js';
import { type Replica, startReplica } from '../support/events/start-replica.js';
import { fakeGarden } from '../support/fake-garden.js';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

describe('POST /clusters/{name}/kubeconfig/', () => {
  const garden = fakeGarden();
  const grant = garden.adminKubeconfig;
  let t: ClusterTest;
  let name: string;
  const issue = (body?: object) => t.acme.asMember.post(`/clusters/${name}/kubeconfig/`).send(body);
  /** A slow garden is asked for as many as run at once for others than administrators. @returns ends them, with their statuses */
  const occupyGarden = async (): Promise<() => Promise<number[]>> => {
    const { kubeconfigsPerTeamAtOnce: most } = clusterLimits;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    garden.adminKubeconfig = async (request) => {
      asked += 1;
      await held;
      return grant(request);
    };
    const waiting = Array.from({ length: most }, () => issue().then(({ status }) => status));
    await waitFor('the garden to be asked for all of them', () => asked === most);
    return () => {
      release();
      return Promise.all(waiting);
    };
  };
  const entries = () =>
    t.db.auditEntry.findMany({ where: { targetName: name, action: 'kubeconfig.issue' }, orderBy: { id: 'asc' } });

  beforeAll(async () => {
    t = await startWithConnection({ garden });
  });
  afterAll(() => t.close());
  beforeEach(() => {
    name = freshName(t);
    garden.failure = null;
    garden.issued.length = 0;
    garden.adminKubeconfig = grant;
  });

  it('issues a credential for reading, which is all that viewers of the team get', async () => {
    await t.clusters.running(name);
    const { shootName } = await t.db.cluster.findFirstOrThrow({ where: { name } });
    const viewer = await t.createUser(`viewer@${name}.test`, [{ team: t.acme, role: 'viewer' }]);
    const asViewer = (body: object) =>
      t.api
        .as(viewer)
        .post(t.acme.path(`/clusters/${name}/kubeconfig/`))
        .send(body);
    const forReading = { kubeconfig: `kubeconfig for reading ${shootName}`, scope: 'cluster-viewer' };

    expect((await issue({ scope: 'viewer' }).expect(200)).body).toMatchObject(forReading);
    expect((await asViewer({ scope: 'viewer' }).expect(200)).body).toMatchObject(forReading);
    for (const body of [{}, { scope: 'admin' }]) {
      expect((await asViewer(body).expect(403)).body.code).toBe('permission_denied');
    }

    expect((await entries()).map(({ detail }) => detail)).toEqual([
      expect.objectContaining({ scope: 'viewer' }),
      expect.objectContaining({ scope: 'viewer' }),
    ]);
  });

  it('answers a credential for an hour that must not be cached, and is in the audit log before it exists', async () => {
    await t.clusters.running(name);
    const { shootName } = await t.db.cluster.findFirstOrThrow({ where: { name } });
    let found: unknown;
    garden.adminKubeconfig = async (request) => {
      found = await entries();
      return grant(request);
    };

    const { body, headers } = await issue().expect(200);

    expect(body).toMatchObject({ kubeconfig: `secret kubeconfig of ${shootName}`, scope: 'cluster-admin' });
    expect(headers['cache-control']).toBe('no-store');
    expect(garden.issued).toEqual([{ namespace: 'garden-acme', name: shootName, expirationSeconds: 3_600 }]);
    const { id: teamId, member } = t.acme;
    const requestId = headers['x-correlation-id'];
    const detail = { ttlSeconds: 3_600, scope: 'admin' };
    expect(found).toMatchObject([{ teamId, userId: member.id, targetKind: 'Cluster', requestId, detail }]);
    expect(await entries()).toHaveLength(1);
  });

  it('has a context that is named after team and cluster', async () => {
    await t.clusters.running(name);
    const expiresAt = new Date('2027-01-01T00:00:00.000Z');
    garden.adminKubeconfig = async () => ({
      kubeconfig: 'current-context: x\ncontexts:\n  - name: x\n    context: { cluster: c, user: u }\nclusters: []\n',
      expiresAt,
    });

    const { body } = await issue().expect(200);

    expect(body.kubeconfig).toContain(`current-context: acme/${name}\n`);
    expect(body.kubeconfig).toContain(`- name: acme/${name}\n`);
    expect(body.expiresAt).toBe(expiresAt.toISOString());
  });

  it('is refused before the cluster is ready, with the operation that must end first', async () => {
    const { operation } = await t.clusters.declare(name);

    expect((await issue().expect(409)).body).toMatchObject({ code: 'cluster_not_ready', operationId: operation.id });
    expect([garden.issued, await entries()]).toEqual([[], []]);
  });

  it('is limited per team to eight concurrent ones, so a slow garden blocks neither other teams nor administrators', async () => {
    await t.clusters.running(name);
    const release = await occupyGarden();

    const { body, headers } = await issue().expect(429);

    expect(body).toMatchObject({ code: 'rate_limit_exceeded', detail: expect.stringContaining('of the team') });
    expect(headers['retry-after']).toMatch(/^\d+$/);
    garden.adminKubeconfig = grant;
    await t.acme.asAdmin.post(`/clusters/${name}/kubeconfig/`).expect(200);
    expect(new Set(await release())).toEqual(new Set([200]));
    await issue().expect(200);
  });

  it('is listed for the team with the person, the expiry and the outcome, the newest first', async () => {
    const list = () => t.acme.asAdmin.get(`/clusters/${name}/kubeconfig/`);
    await list().expect(404);
    await t.clusters.running(name);
    expect((await list().expect(200)).body).toEqual({ items: [] });
    const expiresAt = new Date('2027-01-01T00:00:00.000Z');
    garden.adminKubeconfig = async () => ({ kubeconfig: 'x', expiresAt });
    const ci = t.api.withToken(await t.createAccount(t.acme, `ci-${name}`, { role: 'member' }));
    await ci
      .post(t.acme.path(`/clusters/${name}/kubeconfig/`))
      .send({ scope: 'viewer' })
      .expect(200);
    await issue({ ttlSeconds: 900 }).expect(200);
    garden.adminKubeconfig = async () => {
      throw new GardenError('refused', 'refused by the garden');
    };
    await issue({ ttlSeconds: 600 });

    const { body } = await list().expect(200);

    const person = { issuedTo: expect.objectContaining({ email: t.acme.member.email }), serviceAccount: null };
    const shared = { ...person, scope: 'cluster-admin', createdAt: expect.any(String) };
    expect(body.items).toEqual([
      { ...shared, ttlSeconds: 600, expiresAt: null, outcome: 'refused' },
      { ...shared, ttlSeconds: 900, expiresAt: expiresAt.toISOString(), outcome: 'completed' },
      expect.objectContaining({ issuedTo: null, serviceAccount: `ci-${name}`, scope: 'cluster-viewer' }),
    ]);
    const other = await t.api.as(t.acme.member).get(`/api/v1/teams/globex/clusters/${name}/kubeconfig/`);
    expect(other.status).toBe(404);
  });

  it('stores the credential neither in the database nor in the log', async () => {
    const { log, text } = recordedLog();
    const talkative = await startClusterApi({ garden, log });
    try {
      await addConnection(talkative, talkative.acme);
      await runningCluster(talkative, talkative.acme, 'web');
      garden.adminKubeconfig = async () => ({ kubeconfig: 'top-secret', expiresAt: new Date() });
      const path = talkative.acme.path('/clusters/web/kubeconfig/');
      await talkative.api.as(talkative.acme.member).post(path).expect(200);

      const { rows } = await talkative.pool.query<{ dump: string }>(
        `SELECT query_to_xml('SELECT * FROM audit_entry', true, true, '')::text
             || query_to_xml('SELECT * FROM cluster', true, true, '')::text
             || query_to_xml('SELECT * FROM idempotency_key', true, true, '')::text AS dump`,
      );
      expect(rows[0]?.dump).toContain('kubeconfig.issue');
      expect(rows[0]?.dump).not.toContain('top-secret');
      await waitFor('the request in the log', async () => (await text()).includes('/kubeconfig/'));
      expect(await text()).not.toContain('top-secret');
    } finally {
      await talkative.close();
    }
  });

  it.each<[GardenErrorKind, number, string]>([
    ['unreachable', 502, 'upstream_unavailable'],
    ['refused', 409, 'cluster_not_ready'],
    ['not_found', 409, 'cluster_not_ready'],
  ])('maps the garden error %s to HTTP %s', async (kind, status, code) => {
    await t.clusters.running(name);
    garden.failure = new GardenError(kind, 'create shoots/adminkubeconfig', { retryAfterSeconds: 17 });

    const answer = await issue().expect(status);

    expect(answer.body.code).toBe(code);
    if (status === 502) expect(answer.headers['retry-after']).toBe('17');
    expect(await entries()).toHaveLength(1);
  });

  it('answers 403 with the words of a policy of the garden that refuses it', async () => {
    await t.clusters.running(name);
    garden.failure = new GardenError('refused', 'create shoots/adminkubeconfig', {
      denial: { by: 'office-hours', words: 'Come back at nine' },
    });

    expect((await issue().expect(403)).body).toMatchObject({
      code: 'permission_denied',
      detail: 'The policy office-hours of the garden refuses the kubeconfig: Come back at nine.',
    });
  });

  describe('the limit of 20 per hour', () => {
    const fill = async (minutesAgo: number, count: number, detail: object = { issued: true }) => {
      const { id } = await t.db.cluster.findFirstOrThrow({ where: { name } });
      await t.pool.query(
        `INSERT INTO audit_entry (team_id, user_id, action, target_kind, target_id, target_name, detail, created_at)
         SELECT $1, $2, 'kubeconfig.issue', 'Cluster', $3, $4, $5, now() - make_interval(mins => $6)
         FROM generate_series(1, $7)`,
        [t.acme.id, t.acme.member.id, id, name, JSON.stringify(detail), minutesAgo, count],
      );
    };

    it('answers 429 with the time until the next one is allowed', async () => {
      await t.clusters.running(name);
      const begunAt = Date.now();
      await fill(50, 1);
      await fill(10, 19);

      const { body, headers } = await issue().expect(429);

      expect(body.code).toBe('rate_limit_exceeded');
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(598 - (Date.now() - begunAt) / 1_000);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(600);
      expect(garden.issued).toEqual([]);
    });

    it('is counted per cluster, for each person and service account alone', async () => {
      await t.clusters.running(name);
      await fill(1, 20);
      const path = t.acme.path(`/clusters/${name}/kubeconfig/`);
      const one = await t.createAccount(t.acme, 'one', { role: 'member' });
      const other = await t.createAccount(t.acme, 'two', { role: 'member' });
      for (let times = 0; times < 20; times += 1) await t.api.withToken(one).post(path).expect(200);

      await issue().expect(429);
      await t.api.withToken(one).post(path).expect(429);
      await t.api.withToken(other).post(path).expect(200);
      await t.api.as(t.acme.admin).post(path).expect(200);
      name = `${name}-other`;
      await t.clusters.running(name);
      await issue().expect(200);
    });

    it('is counted for each scope alone', async () => {
      await t.clusters.running(name);
      await fill(1, 20, { issued: true, scope: 'viewer' });

      const { body } = await issue({ scope: 'viewer' }).expect(429);
      expect(body.detail).toContain('20 kubeconfigs with the scope viewer for one cluster within an hour');
      await issue().expect(200);
    });

    it('counts what the garden may have issued, but neither certain failures nor what is older than an hour', async () => {
      await t.clusters.running(name);
      await fill(61, 40);
      await fill(1, 18);
      garden.failure = new GardenError('unreachable', 'no connection');
      await issue().expect(502);
      await issue().expect(502);
      garden.failure = new GardenError('uncertain', 'no answer in time');
      await issue().expect(502);
      garden.failure = null;

      await issue().expect(200);
      await issue().expect(429);
    });

    it('holds for concurrent requests', async () => {
      await t.clusters.running(name);
      await fill(1, 15);

      const answers = await Promise.all(Array.from({ length: 12 }, () => issue()));

      expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(7);
      expect(garden.issued).toHaveLength(5);
    });
  });
});

describe('a request that prefers to wait for an operation', () => {
  const PER_TEAM = 20;
  let t: TestClusterApi;
  let replica: Replica;
  let names = 0;
  beforeAll(async () => {
    // Fewer connections than waiting requests, so that one that held its connection would be noticed.
    t = await startClusterApi({
      connections: 4,
      config: { operationWaits: { perCaller: PER_TEAM + 1, perTeam: PER_TEAM, perProcess: 1_000 }, readConnections: 4 },
    });
    for (const team of [t.acme, t.globex]) await addConnection(t, team);
    await t.pool.query('UPDATE team SET clusters_max = 1000');
    replica = await startReplica(t);
  });
  afterAll(async () => {
    await replica.close();
    await t.close();
  });

  /** @returns the path of the open operation of a new cluster, and the cluster's name */
  async function begin(team: TestTeam): Promise<{ readonly path: string; readonly name: string }> {
    names += 1;
    const name = `waits-${names}`;
    const { operation } = await declare(team, name);
    return { path: team.path(`/operations/${operation.id}/`), name };
  }

  interface Asked {
    readonly answer: Promise<{
      readonly status: number;
      readonly headers: IncomingMessage['headers'];
      readonly body: Body;
    }>;
    leave(): void;
  }
  interface Body {
    readonly state: string;
    readonly code?: string;
  }

  function ask(path: string, prefer: string, { cookie } = t.acme.member, at = replica): Asked {
    const sent = request(`${at.url}${path}`, { agent: false, headers: { Cookie: cookie, Prefer: prefer } });
    const answer = new Promise<Awaited<Asked['answer']>>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: JSON.parse(text) }));
      });
    });
    answer.catch(() => undefined);
    sent.end();
    return { answer, leave: () => sent.destroy() };
  }

  const waiting = async (at = replica): Promise<number> =>
    Number(/^corral_operation_waits\{[^}]*\} (\d+)$/m.exec(await at.metrics.registry.metrics())?.[1]);
  const untilWaiting = (count: number, at = replica) =>
    waitFor(`${count} waiting requests`, async () => (await waiting(at)) === count);

  it('is answered when the operation ends', async () => {
    const { path, name } = await begin(t.acme);
    const asked = ask(path, 'respond-async, wait=60');
    await untilWaiting(1);

    await endOperations(t, t.acme, name, 'succeeded');

    const { status, headers, body } = await asked.answer;
    expect([status, body.state, headers['preference-applied']]).toEqual([200, 'succeeded', 'wait=50']);
    expect(headers).not.toHaveProperty('retry-after');
  });

  it('does not wait for an operation that has ended, nor without a valid preference, nor for a foreign team', async () => {
    const { path, name } = await begin(t.acme);
    for (const prefer of ['wait=soon', 'wait=', 'wait=-1', 'await=30', 'return=minimal']) {
      expect((await ask(path, prefer).answer).headers).not.toHaveProperty('preference-applied');
    }
    await endOperations(t, t.acme, name, 'failed');

    expect((await ask(path, 'wait=600').answer).headers['preference-applied']).toBe('wait=50');
    expect((await ask(path, 'wait=60', t.globex.member).answer).status).toBe(404);
  });

  it('is refused when the session ends meanwhile', async () => {
    const user = await t.createUser('leaves@acme.test', [{ team: t.acme, role: 'viewer' }]);
    const { path, name } = await begin(t.acme);
    const asked = ask(path, 'wait=60', user);
    await untilWaiting(1);

    await t.api.as(user).post('/auth/logout/').expect(204);
    await endOperations(t, t.acme, name, 'succeeded');

    expect(await asked.answer).toMatchObject({ status: 401, body: { code: 'authentication_required' } });
  });

  it('is answered at once when the replica shuts down', async () => {
    const { path } = await begin(t.acme);
    const other = await startReplica(t);
    const asked = ask(path, 'wait=60', t.acme.member, other);
    await untilWaiting(1, other);

    await other.close();

    const { status, headers, body } = await asked.answer;
    expect([status, body.state]).toEqual([200, 'queued']);
    expect(headers).not.toHaveProperty('preference-applied');
  });

  it('takes no room from other teams, nor connections from other requests', async () => {
    const [ours, theirs] = [await begin(t.acme), await begin(t.globex)];
    const many = Array.from({ length: PER_TEAM }, () => ask(ours.path, 'wait=60'));
    await untilWaiting(PER_TEAM);

    const oneMore = await ask(ours.path, 'wait=60').answer;
    const foreign = ask(theirs.path, 'wait=60', t.globex.member);
    await untilWaiting(PER_TEAM + 1);
    const list = await ask(t.acme.path('/operations/'), '').answer;
    await endOperations(t, t.globex, theirs.name, 'succeeded');
    const end = await foreign.answer;
    await endOperations(t, t.acme, ours.name, 'succeeded');
    const ends = await Promise.all(many.map(({ answer }) => answer));

    expect([oneMore.status, oneMore.body.state, oneMore.headers['retry-after']]).toEqual([200, 'queued', '1']);
    expect(oneMore.headers).not.toHaveProperty('preference-applied');
    expect(list.status).toBe(200);
    expect(end).toMatchObject({ status: 200, body: { state: 'succeeded' } });
    expect(new Set(ends.map(({ body }) => body.state))).toEqual(new Set(['succeeded']));
  });
});
