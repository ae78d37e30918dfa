import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@corral/contracts';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingOf } from '../support/clients/client-programs.js';
import { runCommand } from '../support/clients/run-command.js';
import { callClusterApi } from '../support/clusters/call-api.js';
import { signIn } from '../support/clusters/client.js';
import { makeServer } from '../support/clusters/server-journey.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { builtFile } from '../support/system/program.js';
import { HOW, providerPages, tfplugindocs } from '../support/terraform/provider-pages.js';
import {
  type ClusterOptions,
  clusterHcl,
  pipelineEnv,
  startTerraform,
  type Terraform,
  terraformProvider,
} from '../support/terraform/terraform.js';

/* The provider of Terraform, with Terraform itself, on a running system. */

const provider = await terraformProvider();
const generator = await tfplugindocs();
const TIMEOUT_MS = 600_000;

describeNeeding(describe, missingOf(provider), 'the Terraform provider', () => {
  let system: ClusterSystem;
  let acme: ClusterTeam;
  let terraform: Terraform;
  beforeAll(async () => {
    system = await startClusterSystem();
    [acme] = system.teams as [ClusterTeam];
    terraform = await startTerraform(provider, await pipelineEnv(system, acme, 'admin'));
  }, TIMEOUT_MS);
  afterAll(async () => {
    await terraform?.remove();
    await system?.stop();
  }, 120_000);

  const cluster = (name: string, options: ClusterOptions = {}): string => clusterHcl(system, name, options);

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
      expect(replaced).toMatch(/\d+: +node_pools = \[\{/); // the line that does it
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

  it(
    'refuses at plan time, at the attribute, and does not overwrite what others changed after the plan',
    async () => {
      await terraform.configure(cluster('shop', { machineType: 'no-such-type', more: 'plan = "monthly"' }));
      const refused = await terraform.run('plan');
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Cluster shop would be refused') });
      expect(refused.stderr).toMatch(/\d+: +node_pools = \[\{.*"no-such-type"/); // the line that is wrong

      await terraform.configure(cluster('shop'));
      await terraform.insist('apply', '-auto-approve');
      await terraform.configure(cluster('shop', { maximum: 4 }));
      await terraform.insist('plan', '-out=planned');
      const pool = { name: 'general', machineType: 'cx22', minimum: 1, maximum: 9 };
      await acme.admin.insist({ method: 'PUT', path: '/clusters/shop/node-pools/general/', body: { spec: pool } });
      expect((await terraform.run('apply', 'planned')).stderr).toContain('precondition_failed');
      expect((await acme.admin.findCluster('shop'))?.spec.nodePools[0]?.maximum).toBe(9);

      await terraform.configure(cluster('shop', { maximum: 9, more: 'deletion_protection = true' }));
      await terraform.insist('apply', '-auto-approve');
      expect((await terraform.run('destroy', '-auto-approve')).stderr).toContain('deletion_protected');
      await terraform.configure(cluster('shop', { maximum: 9, more: 'deletion_protection = false' }));
      await terraform.insist('apply', '-auto-approve');
      await terraform.insist('destroy', '-auto-approve');
    },
    TIMEOUT_MS,
  );

  it(
    'declares once more what failed',
    async () => {
      await terraform.configure(cluster('ill'));
      await terraform.insist('apply', '-auto-approve');
      const effect = { codes: ['ERR_INFRA_QUOTA_EXCEEDED'], message: 'server limit reached' };
      await system.garden.addShootFaults({ operations: ['Reconcile'], times: null, effect });
      await terraform.configure(cluster('ill', { maximum: 3 }));
      expect((await terraform.run('apply', '-auto-approve')).stderr).toContain('Cluster ill is changed, and not ready');
      expect((await acme.admin.findCluster('ill'))?.status.lastOperation?.state).toBe('failed');

      await system.garden.clearShootFaults();
      await terraform.insist('apply', '-auto-approve');
      expect((await acme.admin.findCluster('ill'))?.status).toMatchObject({ lastOperation: { state: 'succeeded' } });
      await terraform.insist('plan', '-detailed-exitcode');
      await terraform.insist('destroy', '-auto-approve');
    },
    TIMEOUT_MS,
  );

  it(
    'does not replace a cluster that takes longer than it waits',
    async () => {
      await system.garden.addShootFaults({ operations: ['Create'], effect: { stuck: true } });
      await terraform.configure(`provider "corral" {\n  operation_timeout = "1s"\n}\n${cluster('slow')}`);
      expect(await terraform.insist('apply', '-auto-approve')).toContain('Cluster slow is not ready');
      await system.garden.clearShootFaults();
      await terraform.insist('plan', '-detailed-exitcode');
      await terraform.configure('');
      await terraform.insist('apply', '-auto-approve');
    },
    TIMEOUT_MS,
  );

  it(
    'connects a project and adopts a server for a cluster in one run, and keeps no token and no kubeconfig',
    async () => {
      const { serverID, serverType, location } = await makeServer(system, acme);
      const own = `
variable "project_token" {
  type      = string
  ephemeral = true
}

resource "corral_connection" "second" {
  ref            = "second"
  cloud_provider = "hcloud"
  token          = var.project_token
  token_version  = 1
}

resource "corral_adopted_server" "own" {
  connection_ref = corral_connection.second.ref
  server_id      = ${serverID}
  server_type    = "${serverType}"
  location       = "${location}"
  architecture   = "amd64"
  server_kind    = "cloud"
  acknowledge    = "WIPE"
}

resource "corral_cluster" "own" {
  name               = "own"
  connection_ref     = corral_connection.second.ref
  region             = "${system.surroundings.region}"
  kubernetes_version = data.corral_catalogue.all.kubernetes_versions[0].version
  node_pools = [
    { name = "general", machine_type = "cx22", minimum = 1, maximum = 1 },
    { name = "own", source = "pooled", machine_type = "${serverType}", maximum = 1 },
  ]
  depends_on = [corral_adopted_server.own]
}

data "corral_catalogue" "all" {}

output "regions" {
  value = data.corral_catalogue.all.regions[*].name
}
`;
      await terraform.configure(own);
      const variable = `-var=project_token=${acme.providerToken}`;
      await terraform.insist('apply', '-auto-approve', variable);
      await terraform.insist('plan', '-detailed-exitcode', variable);
      expect(JSON.parse(await terraform.insist('output', '-json')).regions.value).toContain('hel1');
      const kubeconfig = `
ephemeral "corral_kubeconfig" "own" {
  cluster = corral_cluster.own.name
  scope   = "viewer"
}

data "corral_operations" "own" {
  target = "own"
  kinds  = ["cluster.create"]
}

output "operations" {
  value = data.corral_operations.own.operations[*].state
}
`;
      await terraform.configure(own + kubeconfig);
      await terraform.insist('apply', '-auto-approve', variable);
      expect(JSON.parse(await terraform.insist('output', '-json')).operations.value).toEqual(['succeeded']);
      const issued = await acme.admin.insist({ method: 'GET', path: '/clusters/own/kubeconfig/' });
      expect(issued.json.items.length).toBeGreaterThan(0);
      const state = await readFile(join(terraform.folder, 'terraform.tfstate'), 'utf8');
      expect(state).not.toContain(acme.providerToken);
      expect(state).not.toContain('client-certificate');

      await terraform.insist('state', 'rm', 'corral_adopted_server.own');
      await terraform.insist('import', variable, 'corral_adopted_server.own', `second/${serverID}`);
      await terraform.configure(own);
      await terraform.insist('destroy', '-auto-approve', variable);
      const left = await acme.admin.insist({ method: 'GET', path: '/connections/' });
      expect(left.json[0].items.map((each: Connection) => each.metadata.ref)).toEqual(['main']);
    },
    TIMEOUT_MS,
  );

  it(
    'manages access with the session of a person',
    async () => {
      const [api] = system.apis as [ClusterSystem['apis'][number]];
      const cookie = await signIn(api.base, 'admin@acme.test');
      const people = await startTerraform(provider, {
        CORRAL_URL: api.base,
        CORRAL_TEAM: acme.slug,
        CORRAL_SESSION: cookie.replace('sessionid=', ''),
      });
      const { json } = await callClusterApi(api.base, {
        method: 'GET',
        path: `/a/${acme.slug}/team/api/members/`,
        headers: { cookie },
      });
      const member = (json as { items: { id: number; role: string }[] }).items.find(({ role }) => role === 'member');
      await people.configure(`
resource "corral_service_account" "ci" {
  name      = "ci"
  role      = "member"
  narrowing = { clusters = ["ci-*"], actions = ["read", "change"] }
}

resource "corral_service_account_token" "ci" {
  account         = corral_service_account.ci.name
  expires_in_days = 30
}

resource "corral_trusted_issuer" "github" {
  name            = "github"
  issuer          = "https://token.actions.githubusercontent.com"
  audience        = "https://clusters.example.org"
  claims          = { sub = "repo:acme/infra:*", repository_owner_id = "4711" }
  service_account = corral_service_account.ci.name
}

resource "corral_invitation" "ada" {
  email = "ada@example.org"
}

resource "corral_member" "one" {
  member_id = ${member?.id}
  role      = "viewer"
}
`);
      try {
        await people.insist('apply', '-auto-approve');
        await people.insist('plan', '-detailed-exitcode');
        const [token] = (await people.resources()).filter(({ type }) => type === 'corral_service_account_token');
        const asAccount = { authorization: `Bearer ${token.values.token}` };
        const path = `/api/v1/teams/${acme.slug}/clusters/`;
        expect((await callClusterApi(api.base, { method: 'GET', path, headers: asAccount })).status).toBe(200);
        await people.insist('state', 'rm', 'corral_service_account.ci');
        await people.insist('import', 'corral_service_account.ci', 'ci');
        await people.insist('plan', '-detailed-exitcode');
        await people.insist('destroy', '-auto-approve');
        expect((await callClusterApi(api.base, { method: 'GET', path, headers: asAccount })).status).toBe(401);
      } finally {
        await people.remove();
      }
    },
    TIMEOUT_MS,
  );
});

describeNeeding(describe, missingOf(provider) ?? missingOf(generator), 'the folder of the Terraform provider', () => {
  it(
    `has pages of what there is; otherwise run: ${HOW}`,
    async () => {
      const { committed, wanted } = await providerPages(provider, generator);
      expect(committed).toEqual(wanted);
    },
    TIMEOUT_MS,
  );

  it(
    'has rules that pass their own tests, and files as gofmt writes them',
    async () => {
      const cwd = builtFile('clients/terraform-provider-corral');
      for (const command of [
        ['go', 'vet', './...'],
        ['go', 'test', './...'],
        ['gofmt', '-l', '.'],
      ]) {
        const { code, stdout, stderr } = await runCommand(command, { cwd, timeoutMs: TIMEOUT_MS });
        expect({ command, code, said: stderr }).toEqual({ command, code: 0, said: '' });
        if (command[0] === 'gofmt') expect(stdout).toBe('');
      }
    },
    TIMEOUT_MS,
  );
});
