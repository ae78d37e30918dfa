import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostedNameBody } from '@corral/contracts';
import { describeNeeding, freePort, type RunningProcess, startProcess, waitFor } from '@corral/testing';
import { goModule } from '@corral/testing/go-programs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { certManager, externalDns, missingOf, missingPrograms, pebble } from '../support/clients/client-programs.js';
import { callDns } from '../support/clients/dns-api.js';
import { type Pebble, startPebble } from '../support/clients/pebble.js';
import { askNameServer } from '../support/clients/resolver.js';
import { aCluster, change, findShoot, untilPhase } from '../support/clusters/journey.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { commandBlocksOf } from '../support/docs/documented-commands.js';
import { type KubeAccess, kubeAccess } from '../support/kubernetes/kube-access.js';
import { missingApiServer, startApiServer } from '../support/kubernetes/start-api-server.js';
import { type Ends, ownFolder, undo, ZONE } from '../support/system/system-parts.js';

/*
 * docs/how-to/name-on-a-cluster.md on a real API server. There are no nodes: what its Deployments would run are processes beside it,
 * and the status of a Deployment and of an Ingress is written by hand.
 */

const PAGE = 'docs/how-to/name-on-a-cluster.md';
const ADDRESS = '192.0.2.10';
const [records, certificates, authorityProgram] = [await externalDns(), await certManager(), await pebble()];
const definitions = goModule('github.com/cert-manager/cert-manager@v1.21.2');
const missing =
  [records, certificates, authorityProgram].map(missingOf).find((each) => each !== null) ??
  missingApiServer() ??
  missingPrograms('kubectl');

describeNeeding(describe, missing, 'a name on an empty cluster', () => {
  let folder: string;
  const ends: Ends = [];
  let system: ClusterSystem;
  let team: ClusterTeam;
  let authority: Pebble;
  let kube: KubeAccess;
  const running: RunningProcess[] = [];
  beforeAll(async () => {
    folder = await ownFolder(ends);
    const server = await startApiServer(folder);
    ends.push(server.stop);
    kube = await kubeAccess(folder, server.access);
    const port = await freePort();
    system = await startClusterSystem({ gateways: 1, reconcilerEnv: { ACME_URL: `https://127.0.0.1:${port}/dir` } });
    ends.push(system.stop);
    [team] = system.teams as [ClusterTeam];
    const trusted = join(folder, 'ca.crt');
    authority = await startPebble(ends, authorityProgram, { dnsPort: system.cloud.dnsPort, trusted, port });

    await change(team.member, 'PUT', '/clusters/web/', aCluster(system));
    const shoot = await findShoot(system, await untilPhase(team.member, 'web', 'Ready'));
    const { namespace, name } = shoot?.metadata ?? {};
    await system.cloud.admin('PUT', `/garden/shoots/${namespace}/${name}/api-server`, server.access);
  }, 300_000);
  afterAll(() => undo(ends));

  const start = async (client: typeof records, args: string[], rest: Partial<Parameters<typeof startProcess>[0]>) => {
    const [command = ''] = client.kind === 'found' ? client.command : [];
    const started = await startProcess({ command, args, ...rest, name: args[0] as string });
    running.push(started);
    ends.push(started.stop);
  };
  const nameOf = async () =>
    (await team.member.insist({ method: 'GET', path: '/clusters/web/names/shop.acme/' })).json as HostedNameBody;
  const untilSaid = (message: string) =>
    waitFor(`the name to say ${message}`, async () => {
      const { state, message: said } = await nameOf();
      if (`${state} ${said}`.includes(message)) return true;
      throw new Error(`${state}: ${said}\n${running.map((each) => each.output().slice(-2_000)).join('\n')}`);
    });
  const namesOf = async (): Promise<string[]> => [...(await system.cloud.stated()).keys()];
  const inCluster = { namespace: 'corral-dns' };

  /** What the Pods of the Deployment would run, with its flags, its variables and the rights of its account. */
  async function runDeployment(): Promise<string> {
    await untilSaid('ExternalDNS is starting');
    const { metadata, spec } = await kube.get<Deployment>('deployment/shop-acme', inCluster);
    const [controller, webhook] = spec.template.spec.containers;
    const env: Record<string, string> = { CORRAL_ZONE: ZONE };
    for (const { name, value, valueFrom } of webhook.env) {
      env[name] = value ?? (await kube.secret(valueFrom.secretKeyRef, inCluster));
    }
    const { HETZNER_TOKEN: token = '' } = env;
    const url = `127.0.0.1:${await freePort()}`;
    await start(records, ['serve', url], { env: { ...env, HCLOUD_TOKEN: token }, readyUrl: `http://${url}` });
    const kubeconfig = await kube.kubeconfigOf(spec.template.spec.serviceAccountName, inCluster);
    const here = [`--kubeconfig=${kubeconfig}`, `--webhook-provider-url=http://${url}`];
    await start(records, ['cluster', ...controller.args, ...here], {});
    await kube.setStatus('deployment/shop-acme', inCluster, {
      observedGeneration: metadata.generation,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    });
    return token;
  }

  /** What the charts of cert-manager and of its webhook install, as far as it runs without nodes. */
  async function installCertManager(): Promise<void> {
    await kube.run('apply', '--server-side', '--filename', join(definitions as string, 'deploy/crds'));
    await kube.run('create', 'namespace', 'cert-manager');
    const port = await freePort();
    const paths = ['--kubeconfig', '--authentication-kubeconfig', '--authorization-kubeconfig'];
    const flags = [...paths.flatMap((flag) => [flag, kube.path]), '--bind-address', '127.0.0.1', '--cert-dir', folder];
    await start(certificates, ['solver', ...flags, '--secure-port', String(port)], { readyLine: 'Serving securely' });
    await start(certificates, ['controller', kube.path, String(authority.env.CORRAL_RESOLVER)], {
      env: authority.env,
    });
    const service = { namespace: 'cert-manager', name: 'hetzner' };
    const items = [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: service,
        spec: { type: 'ExternalName', externalName: 'localhost' },
      },
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: 'v1alpha1.acme.hetzner.com' },
        spec: {
          group: 'acme.hetzner.com',
          version: 'v1alpha1',
          groupPriorityMinimum: 1000,
          versionPriority: 15,
          insecureSkipTLSVerify: true,
          service: { ...service, port },
        },
      },
    ];
    const file = join(folder, 'webhook.json');
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await kube.run('apply', '--server-side', '--filename', file);
  }

  it('gets its records and a certificate for the first Ingress, and goes with its token and its objects', async () => {
    await team.member.insist({ method: 'POST', path: '/clusters/web/names/', body: { name: 'shop.acme' } });
    const token = await runDeployment();
    await untilSaid('install cert-manager');
    await installCertManager();
    await untilSaid('Ready');

    const script = commandBlocksOf(PAGE).find((each) => each.script.includes('create ingress'))?.script ?? '';
    const applied = kube.script(script.replaceAll('example.org', ZONE));
    await waitFor('the Ingress', () => kube.get('ingress/shop', {}).catch(() => null));
    await kube.setStatus('ingress/shop', {}, { loadBalancer: { ingress: [{ ip: ADDRESS }] } });
    expect(await applied).toMatchObject({ code: 0, stdout: expect.stringContaining('shop-tls condition met') });

    const host = `shop.acme.${ZONE}`;
    const resolved = () => askNameServer(system.cloud.dnsPort, host, 'A');
    await waitFor('the address of the Ingress', async () => (await resolved()).includes(ADDRESS));
    const chain =
      (await kube.secret({ name: 'shop-tls', key: 'tls.crt' }, {})).match(/-----BEGIN[\s\S]+?-----END.*/g) ?? [];
    const [leaf, ...above] = [...chain, await authority.root()].map((pem) => new X509Certificate(pem));
    expect(leaf?.checkHost(host)).toBe(host);
    let issued = leaf as X509Certificate;
    for (const issuer of above) {
      expect(issued.verify(issuer.publicKey)).toBe(true);
      issued = issuer;
    }
    expect(above.length).toBeGreaterThan(1);
    await waitFor('the challenge to be removed', async () => !(await namesOf()).some((name) => name.includes('_acme')));

    await team.member.insist({ method: 'DELETE', path: '/clusters/web/names/shop.acme/' });
    const zones = { method: 'GET', path: '/zones', token };
    const gateway = system.gateways[0]?.url as string;
    await waitFor('the token to end', async () => (await callDns(gateway, zones)).status === 401);
    await waitFor('the name to be gone', async () => {
      const answer = await team.member.insist({ method: 'GET', path: '/clusters/web/names/' });
      return answer.json.items.length === 0;
    });
    const left = 'deployments,secrets,serviceaccounts,clusterroles,clusterrolebindings,clusterissuers';
    const managed = ['--selector', 'app.kubernetes.io/managed-by=corral', '--all-namespaces', '--output', 'name'];
    expect(await kube.run('get', left, ...managed)).toBe('');
    expect(await resolved()).toEqual([ADDRESS]);
  }, 600_000);
});

interface Deployment {
  readonly metadata: { readonly generation: number };
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string;
        readonly containers: [{ readonly args: string[] }, { readonly env: EnvVar[] }];
      };
    };
  };
}
type EnvVar = { readonly name: string } & (
  | { readonly value: string; readonly valueFrom?: never }
  | { readonly value?: never; readonly valueFrom: { readonly secretKeyRef: { name: string; key: string } } }
);
