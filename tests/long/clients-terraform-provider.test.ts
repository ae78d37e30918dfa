import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingOf } from '../support/clients/client-programs.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { pipelineEnv, startTerraform, type Terraform, terraformProvider } from '../support/terraform/terraform.js';

/* The provider of Terraform, with Terraform itself, on a running system. */

const provider = await terraformProvider();
const TIMEOUT_MS = 600_000;

describeNeeding(describe, missingOf(provider), 'the Terraform provider', () => {
  let system: ClusterSystem;
  let acme: ClusterTeam;
  let terraform: Terraform;
  beforeAll(async () => {
    system = await startClusterSystem();
    [acme] = system.teams as [ClusterTeam];
    terraform = await startTerraform(provider, await pipelineEnv(system, acme));
  }, TIMEOUT_MS);
  afterAll(async () => {
    await terraform?.remove();
    await system?.stop();
  }, 120_000);

  const cluster = (name: string, { machineType = 'cx22', maximum = 2, more = '' } = {}): string => `
resource "corral_cluster" "${name}" {
  name               = "${name}"
  connection_ref     = "${system.surroundings.connectionRef}"
  region             = "${system.surroundings.region}"
  kubernetes_version = "1.34"
  node_pools = [{ name = "general", machine_type = "${machineType}", minimum = 1, maximum = ${maximum} }]
  ${more}
}
`;

  it(
    'creates a cluster, changes it in place, imports it, shows drift, and deletes it',
    async () => {
      await terraform.configure(cluster('web'));
      // Prices are read in the background.
      expect(await terraform.insist('plan')).toMatch(/Cluster web: cost\s[\s\S]*(Per month: \+[\d.]+ to|Not known:)/);
      await terraform.insist('apply', '-auto-approve');
      expect(await acme.admin.findCluster('web')).toMatchObject({ status: { phase: 'Ready' } });
      expect((await terraform.resources())[0].values).toMatchObject({
        kubernetes_version: '1.34',
        phase: 'Ready',
        node_pools: [{ name: 'general', source: 'managed', image: {}, public_ip: true }],
        last_operation: { state: 'succeeded' },
      });
      await terraform.insist('plan', '-detailed-exitcode'); // ends with 2 if it would change anything

      await terraform.configure(cluster('web', { machineType: 'cx32' }));
      const replaced = await terraform.insist('plan');
      expect(replaced).toContain('Cluster web, node pool general: replaced');
      expect(replaced).toMatch(/on main\.tf line \d+, in resource "corral_cluster" "web"/);
      await terraform.insist('apply', '-auto-approve');
      const changed = await acme.admin.findCluster('web');
      expect(changed?.spec.nodePools[0]?.machineType).toBe('cx32');
      await terraform.insist('plan', '-detailed-exitcode');

      await terraform.insist('state', 'rm', 'corral_cluster.web');
      await terraform.insist('import', 'corral_cluster.web', 'web');
      await terraform.insist('plan', '-detailed-exitcode');

      const pool = { name: 'general', machineType: 'cx32', minimum: 1, maximum: 7 };
      await acme.admin.insist({ method: 'PUT', path: '/clusters/web/node-pools/general/', body: { spec: pool } });
      const drift = await terraform.run('plan', '-detailed-exitcode');
      expect(drift).toMatchObject({ code: 2, stdout: expect.stringMatching(/maximum\s+= 7 -> 2/) });

      expect(await terraform.insist('plan', '-destroy')).toContain('Cluster web: what is deleted with it');
      await terraform.insist('destroy', '-auto-approve');
      expect(await acme.admin.findCluster('web')).toBeNull();
    },
    TIMEOUT_MS,
  );
});
