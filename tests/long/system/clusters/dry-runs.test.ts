import type { ChangeEffect } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TeamClient } from '../../../support/clusters/client.js';
import { aCluster, aPool, change, getCluster, untilPhase } from '../../../support/clusters/journey.js';
import { clientOf } from '../../../support/clusters/nodes-of.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';

let system: ClusterSystem;
let member: TeamClient;
beforeAll(async () => {
  system = await startClusterSystem();
  ({ member } = system.teams[0] as ClusterTeam);
});
afterAll(() => system?.stop());

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
