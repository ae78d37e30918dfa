import { type GardenClient, GardenError, type Shoot, type ShootManifest } from '@corral/garden';
import { waitFor } from '@corral/testing';
import { mergeType, must, type RestAnswer } from './rest.js';
import type { Target } from './target.js';

/** The tools of a probe. Each probe has its own Shoots. */
export interface Probing {
  readonly target: Target;
  /** A client with the account and the rights of the reconciler. */
  readonly garden: GardenClient;
  readonly namespace: string;
  readonly projectToken: string;
}

export interface Probe {
  /** Completes the sentence "The garden …". */
  readonly name: string;
  /** The behaviour that Corral relies on. */
  readonly expected: string | RegExp;
  /** @returns what happened, without details that differ from run to run */
  run(probing: Probing): Promise<string>;
}

const PROVIDER = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';
export const WORKER = '.spec.provider.workers[name="p1"]';

export const worker = (more: object = {}) => ({
  name: 'p1',
  minimum: 1,
  maximum: 3,
  machine: { type: 'cpx31' },
  zones: ['hel1-dc2'],
  labels: { 'corral.dev/pool': 'general' },
  ...more,
});

export const aShoot = (
  namespace: string,
  name: string,
  workers: object[] = [worker()],
  metadata: object = {},
): ShootManifest => ({
  metadata: { namespace, name, labels: { 'corral.dev/managed': 'true' }, ...metadata },
  spec: {
    cloudProfile: { kind: 'CloudProfile', name: 'hcloud' },
    region: 'hel1',
    credentialsBindingName: 'conn',
    kubernetes: { version: '1.34.3' },
    networking: { type: 'calico', nodes: '10.250.0.0/16', pods: '10.244.0.0/16', services: '10.96.0.0/16' },
    hibernation: { enabled: false },
    maintenance: { autoUpdate: { kubernetesVersion: false } },
    provider: {
      type: 'hcloud',
      infrastructureConfig: {
        apiVersion: PROVIDER,
        kind: 'InfrastructureConfig',
        networks: { workersConfiguration: { cidr: '10.250.0.0/16' } },
      },
      controlPlaneConfig: { apiVersion: PROVIDER, kind: 'ControlPlaneConfig', zone: 'hel1-dc2' },
      workers,
    },
  },
});

export const shootPath = (namespace: string, name: string): string =>
  `/apis/core.gardener.cloud/v1beta1/namespaces/${namespace}/shoots/${name}`;

/** Another manager changes the pools. */
export async function editPools(
  { admin }: Target,
  { metadata: { namespace, name }, ...shoot }: Shoot,
  change: (pools: readonly ShownPool[]) => object[],
  manager = 'kubectl-edit',
): Promise<void> {
  const patch = { spec: { provider: { workers: change(poolsOf(shoot)) } } };
  await must(admin, 'PATCH', `${shootPath(namespace, name)}?fieldManager=${manager}`, patch, mergeType);
}

/** Another manager sets the maximum of the first pool. */
export async function scale({ target, garden, namespace }: Probing, name: string, maximum: number): Promise<void> {
  const shoot = await present(garden, namespace, name);
  await editPools(target, shoot, ([first, ...others]) => [{ ...first, maximum }, ...others]);
}

/** Another manager adds a pool. */
export async function addPool({ target, garden, namespace }: Probing, name: string, pool: string): Promise<void> {
  const shoot = await present(garden, namespace, name);
  await editPools(target, shoot, (pools) => [...pools, worker({ name: pool, labels: {} })]);
}

export async function present(garden: GardenClient, namespace: string, name: string): Promise<Shoot> {
  const shoot = await garden.readShoot({ namespace, name });
  if (shoot === null) throw new Error(`${name} is gone`);
  return shoot;
}

interface ShownPool {
  readonly name: string;
  readonly maximum: number;
  readonly machine?: { readonly image?: { readonly version?: string } };
}

export const poolsOf = ({ spec }: Pick<Shoot, 'spec'>) => (spec.provider as { workers: ShownPool[] }).workers;
export const shownPools = (shoot: Shoot): string =>
  poolsOf(shoot)
    .map(({ name, maximum }) => `${name}=${maximum}`)
    .join(' ');

/** The outcome of a call, as Corral understands it. */
export async function endOf(made: Promise<unknown>): Promise<string> {
  try {
    await made;
    return 'ok';
  } catch (error) {
    if (!(error instanceof GardenError)) throw error;
    const { kind, status, uidMismatch, causes, fields, denial, webhook } = error;
    const held = causes.map(({ field, manager }) => `${field} of ${manager}`);
    const by = denial === null || fields.length > 0 ? [] : [`${denial.by}: ${denial.words}`];
    return [
      kind,
      status,
      uidMismatch ? 'another uid' : '',
      webhook ?? '',
      ...held,
      ...fields.map(({ field }) => field),
      ...by,
    ]
      .filter((word) => word !== '')
      .join(', ');
  }
}

export const saidOf = ({ status, body }: RestAnswer): string =>
  `${status} ${body?.reason ?? ''}: ${body?.message ?? ''}`;

/** Returns a Shoot that no controller works on. @throws Error while one does */
export async function resting({ target, garden, namespace }: Probing, name: string): Promise<Shoot> {
  const shoot = await present(garden, namespace, name);
  const { lastOperation, observedGeneration } = shoot.status;
  const isAtRest = lastOperation?.state === 'Succeeded' && observedGeneration >= shoot.metadata.generation;
  // The real API server runs without any controller.
  if (!isAtRest && target.hasControllers) throw new Error('a controller works on it');
  return shoot;
}

/** Creates the Project and the credentials, as the reconciler does. */
export async function prepare(target: Target, garden: GardenClient, projectToken: string): Promise<string> {
  const project = { name: 'tconform', labels: {}, annotations: {}, description: 'conformance' };
  await garden.ensureProject(project);
  await target.settleProject(project.name);
  const namespace = await waitFor('the Project to be ready', async () => {
    const { namespace: found, ready } = await garden.ensureProject(project);
    if (found === null || !ready) throw new Error('not yet');
    return found;
  });
  await garden.applyCredentials({ namespace, name: 'conn', token: projectToken, labels: {} });
  return namespace;
}
