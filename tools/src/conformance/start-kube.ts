import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@corral/testing';
import { startKubeApiServer } from '@corral/testing/kube-api-server';
import { obstruct } from './obstacles.js';
import { applyType, type Caller, mergeType, must } from './rest.js';
import type { AccountName, Target } from './target.js';

const PROJECTS = '/apis/core.gardener.cloud/v1beta1/projects';

/** Starts etcd and a real API server with the kinds of Gardener, and creates the published accounts in it. */
export async function startKube({
  etcd,
  apiServer,
  repository,
}: {
  etcd: string;
  apiServer: string;
  repository: string;
}): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-conformance-'));
  const stops: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const each of stops) await each();
  };
  try {
    const tokens = { admin: newToken(), reconciler: newToken(), 'cluster-api': newToken() };
    const server = await startKubeApiServer({ folder, etcd, program: apiServer, callers: callersWith(tokens) });
    stops.unshift(server.stop);
    const callerOf = (token: string): Caller => ({ url: server.url, authority: server.authority, token });
    const admin = callerOf(tokens.admin);
    await furnish(admin, repository);
    return {
      name: 'kube-apiserver 1.36.3',
      hasControllers: false,
      admin,
      accounts: { reconciler: callerOf(tokens.reconciler), 'cluster-api': callerOf(tokens['cluster-api']) },
      settleProject: (name) => settleProject(admin, name),
      limitSecrets: (namespace, max) => limitSecrets(admin, namespace, max),
      obstruct: (namespace, obstacle) => obstruct(admin, namespace, obstacle),
      async forgetManagers(path) {
        await must(admin, 'PATCH', path, { metadata: { managedFields: [{}] } }, mergeType);
      },
      // Its cache of a kind begins when the kind is created, so that earlier events are gone.
      expireHistory: async () => undefined,
      restart: server.restart,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const newToken = (): string => randomBytes(24).toString('hex');

/** The users and groups are those of service accounts. */
function callersWith(tokens: Record<AccountName | 'admin', string>): string[] {
  const accounts = (['reconciler', 'cluster-api'] as const).map(
    (name) =>
      `${tokens[name]},system:serviceaccount:garden:corral-${name},${name},"system:serviceaccounts,system:serviceaccounts:garden"`,
  );
  return [`${tokens.admin},admin,admin,"system:masters"`, ...accounts];
}

async function furnish(admin: Caller, repository: string): Promise<void> {
  await must(admin, 'PATCH', '/api/v1/namespaces/garden?fieldManager=operator', namespaceOf('garden'), applyType);
  const manifests = join(repository, 'infra', 'garden');
  const published = readdirSync(manifests).filter((name) => name.endsWith('.yaml'));
  const files = [
    join(repository, 'tools', 'conformance', 'definitions.yaml'),
    ...published.map((name) => join(manifests, name)),
  ];
  for (const name of files) await applyDocuments(admin, readFileSync(name, 'utf8'));
  await waitFor('the kinds to be served', async () => {
    for (const kind of ['core.gardener.cloud/v1beta1/shoots', 'security.gardener.cloud/v1alpha1/credentialsbindings']) {
      await must(admin, 'GET', `/apis/${kind}`);
    }
    return true;
  });
}

/** Applies the documents of a file with definitions of kinds, accounts or roles. */
export async function applyDocuments(admin: Caller, text: string): Promise<void> {
  for (const document of text.split(/^---$/m).filter((each) => each.trim() !== '')) {
    await must(admin, 'PATCH', `${pathOf(document)}?fieldManager=operator`, document, applyType);
  }
}

const collections: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ServiceAccount: '/api/v1/namespaces/garden/serviceaccounts',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
};

function pathOf(document: string): string {
  const kind = /^kind: (\w+)$/m.exec(document)?.[1] ?? '';
  const name = /^ {2}name: ([\w.-]+)$/m.exec(document)?.[1] ?? '';
  const collection = collections[kind];
  if (collection === undefined || name === '') throw new Error(`No manifest that is known: ${document.slice(0, 80)}`);
  return `${collection}/${name}`;
}

const namespaceOf = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

async function settleProject(admin: Caller, name: string): Promise<void> {
  const namespace = `garden-${name}`;
  await must(
    admin,
    'PATCH',
    `/api/v1/namespaces/${namespace}?fieldManager=gardener`,
    namespaceOf(namespace),
    applyType,
  );
  await must(admin, 'PATCH', `${PROJECTS}/${name}`, { spec: { namespace } }, mergeType);
  await must(admin, 'PATCH', `${PROJECTS}/${name}/status`, { status: { phase: 'Ready' } }, mergeType);
}

async function limitSecrets(admin: Caller, namespace: string, max: number | null): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/resourcequotas/gardener`;
  if (max === null) {
    await must(admin, 'DELETE', path);
    return;
  }
  const hard = { 'count/secrets': String(max) };
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'gardener', namespace }, spec: { hard } };
  await must(admin, 'PATCH', `${path}?fieldManager=operator`, quota, applyType);
  // The usage that the quota controller would count.
  const status = { hard, used: { 'count/secrets': String(max) } };
  await must(admin, 'PATCH', `${path}/status`, { status }, mergeType);
}
