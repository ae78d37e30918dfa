import { type GardenClient, GardenError, othersHolding, type Shoot, type ShootManifest } from '@corral/garden';
import { waitFor } from '@corral/testing';
import { call, mergeType, must, type RestAnswer } from './rest.js';
import { connect, type Target } from './target.js';

/** What a probe works with. Each has Shoots of its own. */
export interface Probing {
  readonly target: Target;
  /** As the reconciler, with its rights. */
  readonly garden: GardenClient;
  readonly namespace: string;
  readonly projectToken: string;
}

export interface Probe {
  /** Completes "The garden …". */
  readonly name: string;
  /** What Corral relies on. */
  readonly expected: string | RegExp;
  /** @returns what happened, without what differs from run to run */
  run(probing: Probing): Promise<string>;
}

const PROVIDER = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';
const WORKER = '.spec.provider.workers[name="p1"]';

export const worker = (more: object = {}) => ({
  ...{ name: 'p1', minimum: 1, maximum: 3, machine: { type: 'cpx31' }, zones: ['hel1-dc2'] },
  labels: { 'corral.dev/pool': 'general' },
  ...more,
});

const aShoot = (
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
        ...{ apiVersion: PROVIDER, kind: 'InfrastructureConfig' },
        networks: { workersConfiguration: { cidr: '10.250.0.0/16' } },
      },
      controlPlaneConfig: { apiVersion: PROVIDER, kind: 'ControlPlaneConfig', zone: 'hel1-dc2' },
      workers,
    },
  },
});

export const shootPath = (namespace: string, name: string): string =>
  `/apis/core.gardener.cloud/v1beta1/namespaces/${namespace}/shoots/${name}`;

/** Somebody else sets the maximum of the first pool. */
async function scale({ target, garden, namespace }: Probing, name: string, maximum: number): Promise<void> {
  const { spec } = await present(garden, namespace, name);
  const [first, ...others] = (spec.provider as { workers: object[] }).workers;
  const patch = { spec: { provider: { workers: [{ ...first, maximum }, ...others] } } };
  await must(target.admin, 'PATCH', `${shootPath(namespace, name)}?fieldManager=kubectl-edit`, patch, mergeType);
}

/** Somebody else adds a pool. */
async function addPool({ target, garden, namespace }: Probing, name: string, pool: string): Promise<void> {
  const { spec } = await present(garden, namespace, name);
  const { workers } = spec.provider as { workers: object[] };
  const patch = { spec: { provider: { workers: [...workers, worker({ name: pool, labels: {} })] } } };
  await must(target.admin, 'PATCH', `${shootPath(namespace, name)}?fieldManager=kubectl-edit`, patch, mergeType);
}

async function present(garden: GardenClient, namespace: string, name: string): Promise<Shoot> {
  const shoot = await garden.readShoot({ namespace, name });
  if (shoot === null) throw new Error(`${name} is gone`);
  return shoot;
}

const poolsOf = ({ spec }: Shoot) => (spec.provider as { workers: { name: string; maximum: number }[] }).workers;
const shownPools = (shoot: Shoot): string =>
  poolsOf(shoot)
    .map(({ name, maximum }) => `${name}=${maximum}`)
    .join(' ');

/** How a call ends, as Corral understands it. */
async function endOf(made: Promise<unknown>): Promise<string> {
  try {
    await made;
    return 'ok';
  } catch (error) {
    if (!(error instanceof GardenError)) throw error;
    const { kind, status, uidMismatch, causes, fields } = error;
    const held = causes.map(({ field, manager }) => `${field} of ${manager}`);
    return [kind, status, uidMismatch ? 'another uid' : '', ...held, ...fields.map(({ field }) => field)]
      .filter((word) => word !== '')
      .join(', ');
  }
}

const saidOf = ({ status, body }: RestAnswer): string => `${status} ${body?.reason ?? ''}: ${body?.message ?? ''}`;

/** In the order in which they run; each works on Shoots of its own. */
export const probes: readonly Probe[] = [
  {
    name: 'makes a Shoot by an apply, and says so',
    expected: 'created, then not',
    async run({ garden, namespace }) {
      const first = await garden.applyShoot(aShoot(namespace, 'make'));
      const again = await garden.applyShoot(aShoot(namespace, 'make'));
      return `${first.created ? 'created' : 'found'}, then ${again.created ? 'created' : 'not'}`;
    },
  },
  {
    name: 'counts generations by the specification, not by annotations',
    expected: 'spec +1, annotation +0',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'count'));
      // Whoever binds it to a seed raises it as well, once.
      const before = await waitFor('the Shoot to rest', () => resting(probing, 'count'));
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'count', [worker({ maximum: 4 })]));
      const { uid } = shoot.metadata;
      const marked = await garden.annotateShoot({
        namespace,
        name: 'count',
        uid,
        annotations: { 'example.org/a': 'b' },
      });
      const { generation } = shoot.metadata;
      return `spec +${generation - before.metadata.generation}, annotation +${marked.metadata.generation - generation}`;
    },
  },
  {
    name: 'removes what an apply leaves out',
    expected: 'p1=3',
    async run({ garden, namespace }) {
      await garden.applyShoot(aShoot(namespace, 'less', [worker(), worker({ name: 'p2' })]));
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'less'));
      return shownPools(shoot);
    },
  },
  {
    name: 'names field and manager of a conflict',
    expected: `conflict, 409, ${WORKER}.maximum of kubectl-edit`,
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'held'));
      await scale(probing, 'held', 7);
      return endOf(garden.applyShoot(aShoot(namespace, 'held', [worker({ maximum: 5 })])));
    },
  },
  {
    name: 'tells who holds a field, and the time',
    expected: 'kubectl-edit, with times',
    async run({ garden, namespace }) {
      const held = await garden.readHeld({ namespace, name: 'held' });
      const holders = othersHolding(held?.shoot.managers ?? [], `${WORKER}.maximum`);
      const isTimed = held?.at instanceof Date && holders.every(({ time }) => time !== null);
      return `${holders.map(({ manager }) => manager).join(' ')}, ${isTimed ? 'with' : 'without'} times`;
    },
  },
  {
    name: 'refuses a forced apply on what is old, and takes fields over on what is not',
    expected: 'conflict, 409, then p1=5 held by nobody else',
    async run({ garden, namespace }) {
      const { metadata } = await present(garden, namespace, 'held');
      const override = (resourceVersion: string) =>
        garden.overrideShoot({
          ...aShoot(namespace, 'held', [worker({ maximum: 5 })]),
          metadata: { ...aShoot(namespace, 'held').metadata, resourceVersion },
        });
      const old = await endOf(override('1'));
      await waitFor('nobody to write in between', async () => {
        const { metadata: now } = await present(garden, namespace, 'held');
        return endOf(override(now.resourceVersion)).then((end) => {
          if (end !== 'ok') throw new Error(`${end} after ${metadata.resourceVersion}`);
          return true;
        });
      });
      const shoot = await present(garden, namespace, 'held');
      const others = othersHolding(shoot.managers, `${WORKER}.maximum`).map(({ manager }) => manager);
      return `${old}, then ${shownPools(shoot)} held by ${others.join(' ') || 'nobody else'}`;
    },
  },
  {
    name: 'keeps what an apply leaves to whoever holds it',
    expected: 'p1=8',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'kept'));
      await scale(probing, 'kept', 8);
      const { maximum: _, ...rest } = worker();
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'kept', [rest]));
      return shownPools(shoot);
    },
  },
  {
    name: 'removes a pool that an apply leaves out, though somebody else holds a field in it',
    expected: 'p0=3',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'scaled', [worker(), worker({ name: 'p0' })]));
      await scale(probing, 'scaled', 8);
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'scaled', [worker({ name: 'p0' })]));
      return shownPools(shoot);
    },
  },
  {
    name: 'keeps a pool that somebody else has added, over an apply that does not know it',
    expected: 'p1=5 p9=3',
    async run(probing) {
      const { garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'joined'));
      await addPool(probing, 'joined', 'p9');
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'joined', [worker({ maximum: 5 })]));
      return shownPools(shoot);
    },
  },
  {
    name: 'tells who has added a pool, and that nobody else holds the others',
    expected: 'p9 of kubectl-edit, p1 of nobody else',
    async run({ garden, namespace }) {
      const { managers } = await present(garden, namespace, 'joined');
      const holders = (pool: string): string =>
        othersHolding(managers, `.spec.provider.workers[name="${pool}"].name`)
          .map(({ manager }) => manager)
          .join(' ') || 'nobody else';
      return `p9 of ${holders('p9')}, p1 of ${holders('p1')}`;
    },
  },
  {
    name: 'gives to before-first-apply what a restore has forgotten',
    expected: new RegExp(`^conflict, 409, .*${'maximum'} of before-first-apply`),
    async run(probing) {
      const { target, garden, namespace } = probing;
      await garden.applyShoot(aShoot(namespace, 'restored'));
      await waitFor('the Shoot to rest', () => resting(probing, 'restored'));
      await target.forgetManagers(shootPath(namespace, 'restored'));
      return endOf(garden.applyShoot(aShoot(namespace, 'restored', [worker({ maximum: 5 })])));
    },
  },
  {
    name: 'keeps a pool that an apply leaves out after a restore, until the list is replaced',
    expected: 'p1=3 p0=3, then p0=3',
    async run(probing) {
      const { target, garden, namespace } = probing;
      const [first, second] = [worker(), worker({ name: 'p0' })];
      await garden.applyShoot(aShoot(namespace, 'left', [first, second]));
      await waitFor('the Shoot to rest', () => resting(probing, 'left'));
      await target.forgetManagers(shootPath(namespace, 'left'));
      await garden.applyShoot(aShoot(namespace, 'left', [first, second]));
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'left', [second]));
      const replaced = await waitFor('nobody to write in between', async () => {
        const seen = await present(garden, namespace, 'left');
        const { uid, resourceVersion } = seen.metadata;
        const workers = poolsOf(seen).filter(({ name }) => name === 'p0');
        return garden.replaceWorkers({ namespace, name: 'left', uid, resourceVersion, workers });
      });
      return `${shownPools(shoot)}, then ${shownPools(replaced)}`;
    },
  },
  {
    name: 'refuses a field that it does not have, by name',
    expected: 'refused, 500, spec.unheardOf',
    async run({ garden, namespace }) {
      const manifest = aShoot(namespace, 'newer');
      return endOf(garden.applyShoot({ ...manifest, spec: { ...manifest.spec, unheardOf: true } }));
    },
  },
  {
    name: 'refuses a field that a pool does not have, by name',
    expected: `refused, 500, ${WORKER.slice(1)}.unheardOf`,
    async run({ garden, namespace }) {
      return endOf(garden.applyShoot(aShoot(namespace, 'newer', [worker({ unheardOf: 1 })])));
    },
  },
  {
    name: 'takes another uid in a patch for a change of it',
    expected: 'merge: conflict, 422, another uid; apply: conflict, 422, another uid',
    async run({ garden, namespace }) {
      await garden.applyShoot(aShoot(namespace, 'meant'));
      const uid = '00000000-0000-4000-8000-000000000000';
      const merged = await endOf(garden.annotateShoot({ namespace, name: 'meant', uid, annotations: { a: 'b' } }));
      const applied = await endOf(garden.applyShoot(aShoot(namespace, 'meant', [worker()], { uid })));
      return `merge: ${merged}; apply: ${applied}`;
    },
  },
  {
    name: 'makes nothing anew that an apply names by uid',
    expected: 'conflict, 409, another uid',
    async run({ garden, namespace }) {
      const uid = '00000000-0000-4000-8000-000000000000';
      return endOf(garden.applyShoot(aShoot(namespace, 'absent', [worker()], { uid })));
    },
  },
  {
    name: 'sets nothing on a version that is old',
    expected: 'conflict, 409',
    async run({ garden, namespace }) {
      const { uid } = (await garden.applyShoot(aShoot(namespace, 'slot'))).shoot.metadata;
      const order = { namespace, name: 'slot', uid, resourceVersion: '1', annotations: { a: 'b' } };
      return endOf(garden.annotateShoot(order));
    },
  },
  {
    name: 'deletes nothing of another uid, and what is meant after its finalizers',
    expected: 'conflict, 422, another uid; going; gone',
    async run({ target, garden, namespace }) {
      await garden.applyShoot(aShoot(namespace, 'going'));
      const path = shootPath(namespace, 'going');
      const { uid } = (await present(garden, namespace, 'going')).metadata;
      if (!target.hasControllers) {
        await must(target.admin, 'PATCH', path, { metadata: { finalizers: ['gardener.cloud/gardener'] } }, mergeType);
      }
      const other = await endOf(
        garden.deleteShoot({ namespace, name: 'going', uid: '00000000-0000-4000-8000-000000000000' }),
      );
      await garden.deleteShoot({ namespace, name: 'going', uid });
      const after = await garden.readShoot({ namespace, name: 'going' });
      const isGoing = after === null || after.metadata.deletionTimestamp !== null;
      if (!target.hasControllers)
        await must(target.admin, 'PATCH', path, { metadata: { finalizers: null } }, mergeType);
      await waitFor('the Shoot to be gone', async () => {
        if ((await garden.readShoot({ namespace, name: 'going' })) !== null) throw new Error('it is there');
        return true;
      });
      return `${other}; ${isGoing ? 'going' : 'there'}; gone`;
    },
  },
  {
    name: 'lets credentials be taken over from somebody else',
    expected: 'conflict, 409, .data.hcloudToken of kubectl, then ok',
    async run({ target, garden, namespace, projectToken }) {
      const theirs = { data: { hcloudToken: Buffer.from('x'.repeat(64)).toString('base64') } };
      const path = `/api/v1/namespaces/${namespace}/secrets/conn?fieldManager=kubectl`;
      await must(target.admin, 'PATCH', path, theirs, mergeType);
      const declared = { namespace, name: 'conn', token: projectToken, labels: {} };
      const held = await endOf(garden.applyCredentials(declared));
      return `${held}, then ${await endOf(garden.applyCredentials({ ...declared, force: true }))}`;
    },
  },
  {
    name: 'refuses a Secret beyond a quota, and takes it when that is lifted',
    expected: 'quota_exceeded, 403, then ok',
    async run({ target, garden, namespace, projectToken }) {
      const apply = () => endOf(garden.applyCredentials({ namespace, name: 'more', token: projectToken, labels: {} }));
      await target.limitSecrets(namespace, 1);
      const beyond = await apply();
      await target.limitSecrets(namespace, null);
      const lifted = await waitFor('the quota to be lifted', async () => {
        const end = await apply();
        if (end !== 'ok') throw new Error(end);
        return end;
      });
      await garden.deleteCredentials({ namespace, name: 'more' });
      return `${beyond}, then ${lifted}`;
    },
  },
  {
    name: 'lets each account do what its manifest grants, and nothing else',
    expected: 'reconciler lists namespaces: 403; cluster-api reads a Shoot: ok; writes a Shoot: rbac, 403',
    async run({ target, namespace }) {
      const namespaces = await call(target.accounts.reconciler, 'GET', '/api/v1/namespaces');
      const clusterApi = connect(target.accounts['cluster-api']);
      const read = await endOf(clusterApi.readShoot({ namespace, name: 'make' }));
      const write = await endOf(clusterApi.applyShoot(aShoot(namespace, 'make')));
      await clusterApi.close();
      return `reconciler lists namespaces: ${namespaces.status}; cluster-api reads a Shoot: ${read}; writes a Shoot: ${write}`;
    },
  },
  {
    name: 'says what right is missing',
    expected:
      /^403 Forbidden: .* User "system:serviceaccount:garden:corral-cluster-api" cannot delete resource "shoots" in API group "core.gardener.cloud" in the namespace "…"$/,
    run: async ({ target, namespace }) =>
      saidOf(await call(target.accounts['cluster-api'], 'DELETE', shootPath(namespace, 'make'))).replace(
        namespace,
        '…',
      ),
  },
  {
    name: 'answers 401 to a token that it does not know',
    expected: 'credentials, 401',
    async run({ target, namespace }) {
      const stranger = connect({ ...target.admin, token: 'nobody-knows-it' });
      const end = await endOf(stranger.readShoot({ namespace, name: 'make' }));
      await stranger.close();
      return end;
    },
  },
  {
    name: 'calls somebody without a token system:anonymous',
    expected: /^403 Forbidden: .*User "system:anonymous" cannot get resource "shoots"/,
    run: async ({ target, namespace }) =>
      saidOf(await call({ ...target.admin, token: null }, 'GET', shootPath(namespace, 'make'))).replace(namespace, '…'),
  },
  {
    name: 'tells a watch that its past is gone',
    expected: 'ERROR 410 Expired',
    async run({ target }) {
      await target.expireHistory();
      const path = '/apis/core.gardener.cloud/v1beta1/shoots?watch=true&resourceVersion=1&timeoutSeconds=2';
      const { text } = await call(target.accounts.reconciler, 'GET', path);
      const { type, object } = JSON.parse(text.split('\n')[0] ?? '{}') as {
        type: string;
        object: { code: number; reason: string };
      };
      return `${type} ${object.code} ${object.reason}`;
    },
  },
  {
    name: 'lists in pages of one moment',
    expected: 'pages, all',
    async run({ garden, target }) {
      const selector = { labelSelector: 'corral.dev/managed=true' };
      const { body } = await must(target.admin, 'GET', '/apis/core.gardener.cloud/v1beta1/shoots');
      let [count, pages, after] = [0, 0, null as string | null];
      do {
        const page = await garden.listShoots({ ...selector, limit: 3, continue: after });
        count += page.shoots.length;
        pages += 1;
        after = page.continue;
      } while (after !== null);
      return `${pages > 1 ? 'pages' : 'a page'}, ${count === body.items.length ? 'all' : `${count} of ${body.items.length}`}`;
    },
  },
  {
    name: 'has lost nothing after a restart, and meanwhile is away and nothing else',
    expected: /^(not done here|away only, then unchanged)$/,
    async run({ target, garden, namespace }) {
      if (target.restart === null) return 'not done here';
      const before = (await present(garden, namespace, 'make')).metadata.resourceVersion;
      await target.restart();
      const seen = new Set<string>();
      await waitFor(
        'the server to be back',
        async () => {
          const end = await endOf(garden.readShoot({ namespace, name: 'make' }));
          if (end === 'ok') return true;
          seen.add(end.split(', ')[0] ?? '');
          throw new Error(end);
        },
        { timeoutMs: 120_000 },
      );
      const others = [...seen].filter(
        (kind) => !['unreachable', 'server_error', 'unusable', 'throttled'].includes(kind),
      );
      const { shoot } = await garden.applyShoot(aShoot(namespace, 'make'));
      const isSame = shoot.metadata.resourceVersion === before;
      return `away ${others.length === 0 ? 'only' : `and ${others.join(' ')}`}, then ${isSame ? 'unchanged' : 'changed'}`;
    },
  },
];

/** A Shoot that nobody works on. @throws Error while somebody does */
async function resting({ target, garden, namespace }: Probing, name: string): Promise<Shoot> {
  const shoot = await present(garden, namespace, name);
  const { lastOperation, observedGeneration } = shoot.status;
  const isAtRest = lastOperation?.state === 'Succeeded' && observedGeneration >= shoot.metadata.generation;
  // The real API server runs without any controller.
  if (!isAtRest && target.hasControllers) throw new Error('somebody works on it');
  return shoot;
}

/** Makes Project and credentials, as the reconciler does. */
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
