import { randomUUID } from 'node:crypto';
import { asServerId, type ClusterSpec } from '@corral/contracts';
import { connectQueue, type Queue } from '@corral/queue';
import { createMetrics, silentLog } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { buildApp } from '../../src/build-app.js';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ApiClient, checkedClient } from '../support/checked-client.js';
import { addConnection } from '../support/clusters.js';
import { fakeGarden } from '../support/fake-garden.js';
import { givenServers } from '../support/given-servers.js';
import { hearStatements } from '../support/hear-statements.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

/**
 * All statements of a request: look-up of the session with the hold, BEGIN, the locks of team and cluster, what is decided
 * on, the connection, the declaration, the operation with its audit entry, the cluster for the answer, COMMIT, and the job in
 * the queue.
 */
const STATEMENTS = {
  'a new cluster': 11,
  'changed pools': 11,
  'another order of all pools': 11,
  'servers are claimed or released': 12,
  'an unchanged cluster': 7,
  'an unchanged cluster with servers': 7,
  'an invalid specification': 7,
  'a changed pool': 11,
  hibernate: 11,
  resume: 11,
  'delete a draft': 9,
} as const;

let t: TestClusterApi;
let api: ApiClient;
let queue: Queue;
let statements: string[];
/** Jobs that are sent or being sent: no answer waits for them. */
let jobs: Promise<void>[] = [];
let names = 0;
/** The name of an existing cluster. */
let name: string;

let stopHearing = (): void => undefined;

beforeAll(async () => {
  t = await startClusterApi({ garden: fakeGarden(), config: { gardenFeatures: new Set(['adopted-nodes'] as const) } });
  queue = connectQueue({ databaseUrl: t.databaseUrl, log: silentLog });
  const noted: Pick<Queue, 'nudge'> = {
    nudge(...job) {
      const sent = queue.nudge(...job);
      jobs.push(sent);
      return sent;
    },
  };
  const heard = { ...queue, ...noted };
  api = checkedClient(buildApp({ ...t.deps, queue: heard, metrics: createMetrics({ service: 'test' }) }), PUBLIC_URL);
  await addConnection(t, t.acme);
  await queue.send('reconcile-server', { serverId: asServerId(randomUUID()) });
  statements = [];
  stopHearing = hearStatements((text) => statements.push(text));
});
afterAll(async () => {
  stopHearing();
  await queue.close();
  await t.close();
});
beforeEach(async () => {
  name = `web-${++names}`;
  await put({ nodePools: pools(3) }).expect(202);
  await forgetAll();
});

/** What was sent so far counts no more. */
async function forgetAll(): Promise<void> {
  await Promise.all(jobs);
  jobs = [];
  statements = [];
}

const pools = (maximum: number) => [0, 1, 2, 3].map((n) => aPool({ name: `pool-${n}`, maximum: maximum + n }));
const as = () => api.as(t.acme.member);
const put = (spec: Partial<ClusterSpec>, of = name) =>
  as()
    .put(t.acme.path(`/clusters/${of}/`))
    .send({ spec: aClusterSpec(spec) });

describe('a change of a cluster', () => {
  const expectFew = async (which: keyof typeof STATEMENTS): Promise<void> => {
    await Promise.all(jobs);
    expect({ which, count: statements.length, statements }).toMatchObject({ count: STATEMENTS[which] });
  };

  it('takes few statements for a new cluster', async () => {
    await put({ nodePools: pools(3) }, `${name}-new`).expect(202);

    await expectFew('a new cluster');
  });

  it.each([
    ['an unchanged cluster', { nodePools: pools(3) }, 200],
    ['changed pools', { nodePools: [...pools(4).slice(1), aPool({ name: 'another' })] }, 202],
    ['another order of all pools', { nodePools: pools(4).toReversed() }, 202],
    ['an invalid specification', { nodePools: pools(4), region: 'fsn1' }, 422],
  ] as const)('takes few statements for %s', async (which, spec, status) => {
    await put(spec as Partial<ClusterSpec>).expect(status);

    await expectFew(which);
  });

  it.each([
    ['claim servers', 'servers are claimed or released', 0, 3, 202],
    ['release servers', 'servers are claimed or released', 3, 1, 202],
    ['keep their servers', 'an unchanged cluster with servers', 2, 2, 200],
  ] as const)('takes few statements for pools that %s', async (_which, row, before, after, status) => {
    const owns = (maximum: number) =>
      ['one', 'two'].map((own) => aPool({ name: own, source: 'pooled', machineType: 'cx22', minimum: 0, maximum }));
    await givenServers(t, t.acme, 6);
    await put({ nodePools: [...pools(3), ...owns(before)] }).expect(202);
    await forgetAll();

    await put({ nodePools: [...pools(3), ...owns(after)] }).expect(status);

    await Promise.all(jobs);
    // Each server that changes hands is woken by a job of its own.
    const first = statements.findIndex((text) => text.includes('add_job'));
    statements = statements.filter((text, at) => at <= first || !text.includes('add_job'));
    await expectFew(row);
  });

  it('takes few statements by way of other routes', async () => {
    const path = t.acme.path(`/clusters/${name}/`);

    await as()
      .put(`${path}node-pools/pool-0/`)
      .send(aPool({ name: 'pool-0', maximum: 9 }))
      .expect(200);
    await expectFew('a changed pool');
    for (const action of ['hibernate', 'resume'] as const) {
      await forgetAll();
      await as().post(`${path}${action}/`).expect(202);
      await expectFew(action);
    }
    await forgetAll();
    await as().delete(path).expect(204);
    await expectFew('delete a draft');
  });

  it('is one transaction between the look-up of the session, with the hold, and the job', async () => {
    await put({ plan: 'annual', nodePools: pools(5) }).expect(202);
    await Promise.all(jobs);

    expect(statements[0]).toMatch(/installation_hold[\s\S]*FROM session/);
    expect(statements[1]).toBe('BEGIN');
    expect(statements[2]).toContain('team_change_lock');
    expect(statements.at(-2)).toBe('COMMIT');
    expect(statements.at(-1)).toContain('add_job');
  });
});

describe('reading clusters', () => {
  it.each(['', '{name}/', '{name}/node-pools/'])(
    'takes one statement besides the session look-up: %s',
    async (path) => {
      await as()
        .get(t.acme.path(`/clusters/${path.replace('{name}', name)}`))
        .expect(200);

      expect(statements).toHaveLength(2);
    },
  );
});
