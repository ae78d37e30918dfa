import { type Caller, mergeType, must } from './rest.js';
import type { Target } from './target.js';

const CORE = '/apis/core.gardener.cloud/v1beta1';
const FINALIZER = 'gardener.cloud/gardener';
const PAUSE_MS = 200;

interface Item {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly generation: number;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly hibernation?: { readonly enabled?: boolean } };
  readonly status?: { readonly phase?: string; readonly observedGeneration?: number };
}

/** Simulates the controllers of Gardener: Projects get a namespace, Shoots succeed immediately, and are removed when deleted. */
export function playGardener({ admin, settleProject }: Target): { stop(): Promise<void> } {
  let isStopped = false;
  const playing = (async () => {
    while (!isStopped) {
      // The server restarts meanwhile, and others write at the same time. The next round corrects what failed.
      await playOnce(admin, settleProject).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await playing;
    },
  };
}

async function playOnce(admin: Caller, settleProject: Target['settleProject']): Promise<void> {
  const list = async (plural: string): Promise<Item[]> => (await must(admin, 'GET', `${CORE}/${plural}`)).body.items;
  for (const { metadata, status } of await list('projects')) {
    if (status?.phase !== 'Ready') await settleProject(metadata.name);
  }
  for (const shoot of await list('shoots')) await reconcile(admin, shoot);
}

async function reconcile(admin: Caller, { metadata, spec, status }: Item): Promise<void> {
  const { name, namespace, generation, finalizers = [], deletionTimestamp } = metadata;
  const path = `${CORE}/namespaces/${namespace}/shoots/${name}`;
  if (deletionTimestamp !== undefined) {
    if (finalizers.length > 0) await must(admin, 'PATCH', path, { metadata: { finalizers: null } }, mergeType);
    return;
  }
  if (!finalizers.includes(FINALIZER)) {
    await must(admin, 'PATCH', path, { metadata: { finalizers: [FINALIZER] } }, mergeType);
  }
  if (status?.observedGeneration === generation) return;
  const lastUpdateTime = new Date().toISOString();
  const wellNow = { status: 'True', reason: 'Well', message: '', lastTransitionTime: lastUpdateTime, lastUpdateTime };
  const types = ['APIServerAvailable', 'ControlPlaneHealthy', 'EveryNodeReady', 'SystemComponentsHealthy'];
  const reached = {
    observedGeneration: generation,
    seedName: 'seed',
    hibernated: spec.hibernation?.enabled === true,
    conditions: types.map((type) => ({ type, ...wellNow })),
    lastOperation: {
      type: status?.observedGeneration === undefined ? 'Create' : 'Reconcile',
      state: 'Succeeded',
      progress: 100,
      description: '',
      lastUpdateTime,
    },
  };
  await must(admin, 'PATCH', `${path}/status?fieldManager=gardenlet`, { status: reached }, mergeType);
}
