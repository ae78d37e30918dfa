import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingOf } from '../support/clients/client-programs.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { seed } from '../support/crashes/draw.js';
import { whileCrashing } from '../support/crashes/while-crashing.js';
import {
  clusterHcl,
  pipelineEnv,
  startTerraform,
  type Terraform,
  terraformProvider,
} from '../support/terraform/terraform.js';

/* Terraform with many clusters at a time, while what it talks to is killed. */

const provider = await terraformProvider();
const TIMEOUT_MS = 1_800_000;
const CLUSTERS = 20;
/** Each run of Terraform meets so many kills. */
const KILLS = 10;

describeNeeding(describe, missingOf(provider), 'the Terraform provider, while both services are killed', () => {
  let system: ClusterSystem;
  let acme: ClusterTeam;
  let terraform: Terraform;
  beforeAll(async () => {
    system = await startClusterSystem({ apiEnv: { CLUSTERS_PER_TEAM: String(CLUSTERS) } });
    [acme] = system.teams as [ClusterTeam];
    terraform = await startTerraform(provider, await pipelineEnv(system, acme));
  }, TIMEOUT_MS);
  afterAll(async () => {
    await terraform?.remove();
    await system?.stop();
  }, 120_000);

  it(
    `creates, changes and deletes ${CLUSTERS} clusters, 10 at a time (seed ${seed})`,
    async () => {
      const names = Array.from({ length: CLUSTERS }, (_none, at) => `c${at + 1}`);
      const declare = (maximum: number) =>
        terraform.configure(names.map((name) => clusterHcl(system, name, { maximum })).join('\n'));
      const apply = () => terraform.insist('apply', '-auto-approve', '-parallelism=10');

      await declare(2);
      expect(await whileKilled(apply)).toBeGreaterThanOrEqual(KILLS);
      await declare(3);
      expect(await whileKilled(apply)).toBeGreaterThanOrEqual(KILLS);
      const resources = await terraform.resources();
      expect(resources).toHaveLength(CLUSTERS);
      expect(resources.filter(({ tainted }) => tainted)).toEqual([]);
      await terraform.insist('plan', '-detailed-exitcode');
      const clusters = await Promise.all(names.map((name) => acme.admin.findCluster(name)));
      expect(clusters.map((each) => [each?.status.phase, each?.spec.nodePools[0]?.maximum])).toEqual(
        names.map(() => ['Ready', 3]),
      );

      await whileKilled(() => terraform.insist('destroy', '-auto-approve', '-parallelism=10'));
      expect(await Promise.all(names.map((name) => acme.admin.findCluster(name)))).toEqual(names.map(() => null));
    },
    TIMEOUT_MS,
  );

  /** Kills the cluster API and the reconciler in turn until the work is done. @returns the number of kills */
  async function whileKilled(work: () => Promise<unknown>): Promise<number> {
    const programs = [...system.apis, ...system.reconcilers];
    const { answers, insist } = acme.admin;
    const crashes = { seed, programs, answers, isEnough: (kills: number) => kills >= KILLS };
    const { kills, problems } = await whileCrashing(crashes, async () => {
      let isDone = false;
      const done = work().finally(() => {
        isDone = true;
      });
      while (!isDone) await insist({ method: 'GET', path: '/clusters/?limit=1' });
      await done;
    });
    expect(problems).toEqual([]);
    return kills;
  }
});
