import type { ClusterSpec } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection } from '../support/clusters.js';
import { type FakeGarden, fakeGarden } from '../support/fake-garden.js';
import { givenServers } from '../support/given-servers.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

const STATEMENTS_MAX = 13;

let t: TestClusterApi;
let garden: FakeGarden;
let statements: string[];
let names = 0;
/** The name of an existing cluster. */
let name: string;

/** Records all statements sent to Postgres from now on, over any connection of the pool. */
function listenTo(pool: Pool): void {
  pool.on('acquire', (client) => {
    const heard = client as typeof client & { isHeard?: true };
    if (heard.isHeard) return;
    heard.isHeard = true;
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    heard.query = ((statement: string | { text: string }, ...more: unknown[]) => {
      const text = typeof statement === 'string' ? statement : statement.text;
      // Written at intervals for all sessions, independent of this request.
      if (!text.includes('SET last_seen_at')) statements.push(text);
      return query(statement, ...more);
    }) as typeof client.query;
  });
}

beforeAll(async () => {
  garden = fakeGarden();
  t = await startClusterApi({ garden, config: { gardenFeatures: new Set(['adopted-nodes'] as const) } });
  await addConnection(t, t.acme);
  statements = [];
  listenTo(t.pool);
  listenTo(t.changes.pool);
});
afterAll(() => t.close());
beforeEach(async () => {
  name = `web-${++names}`;
  await put({ nodePools: pools(3) }).expect(202);
  statements = [];
});

const pools = (maximum: number) => [0, 1, 2, 3].map((n) => aPool({ name: `pool-${n}`, maximum: maximum + n }));
const put = (spec: Partial<ClusterSpec>, of = name) =>
  t.api
    .as(t.acme.member)
    .put(t.acme.path(`/clusters/${of}/`))
    .send({ spec: aClusterSpec(spec) });

describe('a declaration of a cluster with several pools', () => {
  const expectFew = (): void => {
    expect(statements.length).toBeLessThanOrEqual(STATEMENTS_MAX);
    expect(statements.filter((text) => text.startsWith('BEGIN'))).toHaveLength(1);
  };

  it('takes few statements for a new cluster', async () => {
    await put({ nodePools: pools(3) }, `${name}-new`).expect(202);

    expectFew();
  });

  it.each([
    ['an unchanged cluster', { nodePools: pools(3) }, 200],
    ['changed pools', { nodePools: [...pools(4).slice(1), aPool({ name: 'another' })] }, 202],
    ['another order of all pools', { nodePools: pools(4).toReversed() }, 202],
    ['an invalid specification', { nodePools: pools(4), region: 'fsn1' }, 422],
  ])('takes few statements for %s', async (_which, spec, status) => {
    await put(spec).expect(status);

    expectFew();
  });

  it.each([
    ['claim servers', 0, 3, 202],
    ['release servers', 3, 1, 202],
    ['keep their servers', 2, 2, 200],
  ])('takes few statements for pools that %s', async (_which, before, after, status) => {
    const owns = (maximum: number) =>
      ['one', 'two'].map((own) => aPool({ name: own, source: 'pooled', machineType: 'cx22', minimum: 0, maximum }));
    await givenServers(t, t.acme, 6);
    await put({ nodePools: [...pools(3), ...owns(before)] }).expect(202);
    statements = [];

    await put({ nodePools: [...pools(3), ...owns(after)] }).expect(status);

    expectFew();
  });

  it('is counted with the session look-up, the check for a hold, BEGIN and COMMIT', async () => {
    await put({ plan: 'annual', nodePools: pools(5) }).expect(202);

    expect(statements[0]).toContain('FROM session');
    expect(statements[1]).toContain('installation_hold');
    expect(statements[2]).toBe('BEGIN');
    expect(statements[3]).toContain('team_change_lock');
    expect(statements.at(-1)).toBe('COMMIT');
  });
});

describe('reading clusters', () => {
  it.each(['', '{name}/', '{name}/node-pools/'])(
    'takes one statement besides the session look-up: %s',
    async (path) => {
      await t.api
        .as(t.acme.member)
        .get(t.acme.path(`/clusters/${path.replace('{name}', name)}`))
        .expect(200);

      expect(statements).toHaveLength(2);
    },
  );
});
