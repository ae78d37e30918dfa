import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { ChangeEffect, Connection } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { runCommand } from '../../../support/clients/run-command.js';
import type { TeamClient } from '../../../support/clusters/client.js';
import {
  aCluster,
  aPool,
  change,
  getCluster,
  getShoot,
  untilCluster,
  untilPhase,
} from '../../../support/clusters/journey.js';
import { askKubectl, clientOf, hasKubectl, nodesOf } from '../../../support/clusters/nodes-of.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';

const adminProgram = fileURLToPath(new URL('../../../../apps/admin/dist/main.js', import.meta.url));
const keyNamed = (name: string) => `${name}:${randomBytes(32).toString('base64')}`;
const [oldKey, newKey] = [keyNamed('old'), keyNamed('new')];

let system: ClusterSystem;

beforeAll(async () => {
  const env = { SECRET_KEYS: `${oldKey},${newKey}` };
  system = await startClusterSystem({ apiEnv: env, reconcilerEnv: env });
});
afterAll(async () => {
  await system?.stop();
});

describe('cost and connections', () => {
  let team: ClusterTeam;
  beforeAll(() => {
    team = system.teams[0] as ClusterTeam;
  });
  const connect = (ref: string, token: string) =>
    team.admin.insist({ method: 'PUT', path: `/connections/${ref}/`, body: { spec: { provider: 'hcloud', token } } });
  const statusOf = async (ref: string): Promise<Connection['status']> =>
    (await team.member.insist({ method: 'GET', path: `/connections/${ref}/` })).json.status;
  /** Acts as if a day had passed. */
  const verifyToday = (ref: string) =>
    system.pool.query('UPDATE connection SET verify_at = now() WHERE team_id = $1 AND ref = $2', [team.id, ref]);
  const twoPools = () => ({
    nodePools: [aPool(), aPool({ name: 'thrifty', machineType: 'cpx21', minimum: 0, maximum: 1 })],
  });

  describe('prices', () => {
    it('appear soon after the connection, show what a cluster or a change costs, and decide which pool grows first', async () => {
      await waitFor('the prices', async () => (await statusOf('main')).project?.currency === 'EUR');
      expect(await statusOf('main')).toMatchObject({
        phase: 'Ready',
        project: { reachable: true, readOnly: false, currency: 'EUR' },
      });

      await change(team.member, 'PUT', '/clusters/web/', aCluster(system, twoPools()));

      const { cost } = (await getCluster(team.member, 'web')).status;
      // cx22: 0.006 and 3.79, cpx21: 0.0113 and 7.05, an address 0.0008 and 0.5
      expect(cost).toMatchObject({
        currency: 'EUR',
        hourly: { minimum: '0.0189', maximum: '0.0257' },
        monthly: { minimum: '11.84', maximum: '16.13' },
        items: [{ name: 'general' }, { name: 'thrifty', minimum: 1, maximum: 1 }],
        pricedAt: expect.any(String),
      });

      const before = await untilCluster(team.member, 'web', 'at rest', ({ status }) =>
        status.conditions.every((condition) => condition.status === 'True'),
      );

      const { json } = await team.member.insist({
        method: 'PUT',
        path: '/clusters/web/node-pools/general/?dryRun=true',
        body: { spec: aPool({ maximum: 4 }) },
      });

      expect(json.costDifference).toEqual({
        hourly: { minimum: '0', maximum: '0.0136' },
        monthly: { minimum: '0', maximum: '8.58' },
      });
      // The observed state of a cluster changes by itself.
      const { metadata, spec } = await getCluster(team.member, 'web');
      expect([metadata.generation, spec]).toEqual([before.metadata.generation, before.spec]);

      const { workers } = (await getShoot(system, before)).spec.provider;
      expect(workers.map(({ priority }) => priority)).toEqual([1, 0]);
    });
  });

  describe('a token', () => {
    it('leaves no test resources in the project', async () => {
      const answer = await fetch(`${system.cloud.apiUrl}/placement_groups`, {
        headers: { authorization: `Bearer ${team.providerToken}` },
      });

      expect(await answer.json()).toMatchObject({ placement_groups: [] });
      expect((await system.cloud.calls())['POST /v1/placement_groups']).toBeGreaterThan(0);
    });

    it('is sealed again while the services run, and they continue to use it', async () => {
      const before = await statusOf('main');

      const { code, stdout } = await runCommand([process.execPath, adminProgram, 'secrets', 'rotate'], {
        env: { DATABASE_URL: system.databaseUrl, SECRET_KEYS: `${newKey},${oldKey}` },
      });

      expect([code, stdout]).toEqual([0, expect.stringContaining('No secret is encrypted with old any more.')]);
      await verifyToday('main');
      await waitFor('the next verification', async () => (await statusOf('main')).verifiedAt !== before.verifiedAt);
      expect((await connect('main', team.providerToken)).json.status).toMatchObject({ phase: 'Ready' });
      const { rows } = await system.pool.query(
        'SELECT DISTINCT token_key_id, token_version FROM connection WHERE ref = $1',
        ['main'],
      );
      expect(rows).toEqual([{ token_key_id: 'new', token_version: 1 }]);
    });
  });
});

describe('dry runs', () => {
  let member: TeamClient;
  beforeAll(() => {
    member = (system.teams[0] as ClusterTeam).member;
  });

  /** The names of the nodes of each pool. */
  async function nodesByPool(name: string): Promise<Record<string, string[]>> {
    const { json } = await member.insist({ method: 'POST', path: `/clusters/${name}/kubeconfig/`, body: {} });
    const { items } = await clientOf(json.kubeconfig).listNode();
    const pools: Record<string, string[]> = {};
    for (const { metadata } of items) {
      const pool = metadata?.labels?.['corral.dev/pool'] as string;
      pools[pool] = [...(pools[pool] ?? []), metadata?.name as string].sort();
    }
    return pools;
  }

  /** Plans a change, then makes it. @returns what the plan says of each pool, and the nodes that remained of each */
  async function planAndApply(name: string, changes: object) {
    const body = aCluster(system, changes);
    const before = await nodesByPool(name);
    const plan = await member.insist({ method: 'PUT', path: `/clusters/${name}/?dryRun=true`, body });
    await change(member, 'PUT', `/clusters/${name}/`, body);
    const after = await nodesByPool(name);
    const kinds = (plan.json.effects as ChangeEffect[]).map((effect) =>
      effect.target === 'cluster' ? effect.kind : `${effect.pool} ${effect.kind}`,
    );
    const kept = Object.entries(before).flatMap(([pool, names]) => names.filter((name) => after[pool]?.includes(name)));
    return { kinds, before, after, kept };
  }

  describe('a dry run predicts what happens to the nodes', () => {
    const [general, batch] = [aPool(), aPool({ name: 'batch', minimum: 2, maximum: 2 })];
    const bigger = { ...batch, machineType: 'cpx21' };

    it('of pools that are added, scaled, replaced and removed, and of another minor version', async () => {
      await change(member, 'PUT', '/clusters/web/', aCluster(system));
      await untilPhase(member, 'web', 'Ready');

      const added = await planAndApply('web', { nodePools: [general, batch] });
      expect(added.kinds).toEqual(['general kept', 'batch added']);
      expect(added.kept).toEqual(added.before.general);
      expect(added.after.batch).toHaveLength(2);

      const scaled = await planAndApply('web', { nodePools: [{ ...general, minimum: 2 }, batch] });
      expect(scaled.kinds).toEqual(['general scaled', 'batch kept']);
      expect(scaled.kept).toEqual(Object.values(scaled.before).flat());
      expect(scaled.after.general).toHaveLength(2);

      const replaced = await planAndApply('web', { nodePools: [{ ...general, minimum: 2 }, bigger] });
      expect(replaced.kinds).toEqual(['general kept', 'batch replaced']);
      expect(replaced.kept).toEqual(replaced.before.general);
      expect(replaced.after.batch).toHaveLength(2);

      const removed = await planAndApply('web', { nodePools: [{ ...general, minimum: 2 }] });
      expect(removed.kinds).toEqual(['general kept', 'batch removed']);
      expect(removed.after).toEqual({ general: removed.before.general });

      const upgraded = await planAndApply('web', {
        nodePools: [{ ...general, minimum: 2 }],
        kubernetesVersion: '1.34',
      });
      expect(upgraded.kinds).toEqual(['upgraded', 'general replaced']);
      expect(upgraded.kept).toEqual([]);
      expect(upgraded.after.general).toHaveLength(2);
    });

    it('of an image that is in use already', async () => {
      await change(member, 'PUT', '/clusters/pinned/', aCluster(system));
      await untilPhase(member, 'pinned', 'Ready');
      const { status } = await getCluster(member, 'pinned');
      const { name, version } = status.nodePools[0]?.image ?? {};

      const pinned = await planAndApply('pinned', { nodePools: [{ ...general, image: { name, version } }] });

      expect([name, version]).toEqual([expect.any(String), expect.any(String)]);
      expect(pinned.kinds).toEqual(['general updated']);
      expect(pinned.kept).toEqual(pinned.before.general);
    });
  });
});

describe('a kubeconfig', () => {
  const path = '/clusters/reached/kubeconfig/';

  let member: TeamClient;
  beforeAll(async () => {
    ({ member } = system.teams[0] as ClusterTeam);
    await change(member, 'PUT', '/clusters/reached/', aCluster(system));
    await untilPhase(member, 'reached', 'Ready');
  });
  afterEach(() => system.cloud.clearFaults());

  async function issue(ttlSeconds: number): Promise<{ kubeconfig: string; expiresAt: string; scope: string }> {
    const answer = await member.send({ method: 'POST', path, body: { ttlSeconds } });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    return answer.json;
  }
  const jump = async (ms: number): Promise<number> =>
    Date.parse((await system.cloud.admin<{ now: string }>('POST', '/clock', { advanceMs: ms })).now);
  it('gives a Kubernetes client access to its cluster until `expiresAt`, and then no longer', async () => {
    const { kubeconfig, expiresAt, scope } = await issue(600);
    const client = clientOf(kubeconfig);
    const names = async () => (await client.listNode()).items.map(({ metadata }) => metadata?.name);

    expect(scope).toBe('cluster-admin');
    expect(await names()).toHaveLength(1);
    const now = await jump(0);
    await jump(Date.parse(expiresAt) - now - 120_000); // two minutes are left
    expect(await names()).toHaveLength(1);
    if (hasKubectl) expect(await askKubectl(kubeconfig)).toHaveLength(1);

    await jump(121_000);

    await expect(names()).rejects.toMatchObject({ code: 401 });
    if (hasKubectl) await expect(askKubectl(kubeconfig)).rejects.toThrow(/Unauthorized|logged in/);
    expect(await nodesOf((await issue(600)).kubeconfig)).toHaveLength(1);
    await expect(names()).rejects.toMatchObject({ code: 401 });
  });
});
