import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { chartDefinitions, goModule } from '@corral/testing/go-programs';
import { applyType, call, mergeType, must } from './rest.js';
import { applyDocuments } from './start-kube.js';
import { kubeconfigOf, type Target } from './target.js';

const run = promisify(execFile);

export interface Step {
  /** Completes the sentence "The chart …". */
  readonly name: string;
  /** Null if it went well. */
  readonly problem: string | null;
}

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
type Item = any;

/** Collections of what a release makes. */
const collections = [
  '/api/v1/namespaces/:ns/configmaps',
  '/api/v1/namespaces/:ns/pods',
  '/api/v1/namespaces/:ns/secrets',
  '/api/v1/namespaces/:ns/serviceaccounts',
  '/api/v1/namespaces/:ns/services',
  '/apis/apps/v1/namespaces/:ns/deployments',
  '/apis/autoscaling/v2/namespaces/:ns/horizontalpodautoscalers',
  '/apis/batch/v1/namespaces/:ns/cronjobs',
  '/apis/batch/v1/namespaces/:ns/jobs',
  '/apis/gateway.networking.k8s.io/v1/namespaces/:ns/httproutes',
  '/apis/keda.sh/v1alpha1/namespaces/:ns/scaledobjects',
  '/apis/monitoring.coreos.com/v1/namespaces/:ns/prometheusrules',
  '/apis/monitoring.coreos.com/v1/namespaces/:ns/servicemonitors',
  '/apis/networking.k8s.io/v1/namespaces/:ns/ingresses',
  '/apis/networking.k8s.io/v1/namespaces/:ns/networkpolicies',
  '/apis/policy/v1/namespaces/:ns/poddisruptionbudgets',
  '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
] as const;

/** Priority classes of an operator's cluster, which a set of values names. */
const priorityClasses = ['important', 'most-important'];

/**
 * Installs the chart with each of its sets of values, upgrades it, runs its test and removes it, with Helm and a real API server
 * whose namespaces admit restricted pods only. No node runs a pod: this plays the controllers that end Jobs and pods.
 */
export async function installChart(target: Target, helm: string, repository: string): Promise<Step[]> {
  const chart = join(repository, 'infra', 'helm', 'corral');
  const folder = mkdtempSync(join(tmpdir(), 'corral-chart-'));
  const steps: Step[] = [];
  const step = async (name: string, act: () => Promise<unknown>): Promise<boolean> => {
    const problem = await act().then(
      () => null,
      (error: Error & { stderr?: string }) => error.stderr?.trim() || error.message,
    );
    steps.push({ name, problem });
    return problem === null;
  };
  try {
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigOf(target.admin), { mode: 0o600 });
    await step('finds the kinds that it uses', () => defineKinds(target));
    for (const name of priorityClasses) await definePriorityClass(target, name);
    for (const file of readdirSync(join(chart, 'ci')).sort()) {
      const set = file.replace('-values.yaml', '');
      const release = new Release(target, { helm, chart, kubeconfig, namespace: `chart-${set}` });
      const values = ['--values', join(chart, 'ci', file)];
      const isInstalled = await step(`with the values ${set} is installed, after its migration`, () =>
        release.install(values),
      );
      if (!isInstalled) continue;
      await step(`with the values ${set} has pods that the restricted level admits`, () => release.admitPods());
      await step(`with the values ${set} is upgraded, and replaces the pods whose secret changed and no others`, () =>
        release.upgrade(values),
      );
      await step(`with the values ${set} runs its tests`, () => release.runWithHooks('test'));
      await step(`with the values ${set} leaves nothing behind when it is removed`, () => release.remove());
    }
    return steps;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function defineKinds({ admin }: Target): Promise<void> {
  for (const [module, path] of chartDefinitions) {
    const source = goModule(module);
    if (source === null) throw new Error(`${module} could not be read: this needs Go and a module proxy.`);
    await applyDocuments(admin, readFileSync(join(source, path), 'utf8'));
  }
  for (const collection of collections) await untilServed(admin, collection.replace(':ns', 'default'));
}

async function definePriorityClass({ admin }: Target, name: string): Promise<void> {
  const body = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value: 1_000 };
  await must(admin, 'PATCH', `/apis/${body.apiVersion}/priorityclasses/${name}?fieldManager=operator`, body, applyType);
}

async function untilServed(admin: Target['admin'], path: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if ((await call(admin, 'GET', path)).status === 200) return;
    await setTimeout(200);
  }
  throw new Error(`${path} is not served.`);
}

interface ReleaseOptions {
  readonly helm: string;
  readonly chart: string;
  readonly kubeconfig: string;
  readonly namespace: string;
}

/** A release in a namespace of its own. */
class Release {
  readonly #admin: Target['admin'];
  readonly #options: ReleaseOptions;

  constructor({ admin }: Target, options: ReleaseOptions) {
    this.#admin = admin;
    this.#options = options;
  }

  async install(values: readonly string[]): Promise<void> {
    const { namespace, chart } = this.#options;
    const levels = ['enforce', 'warn', 'audit'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
    const body = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: Object.fromEntries(levels) },
    };
    await must(this.#admin, 'PATCH', `/api/v1/namespaces/${namespace}?fieldManager=operator`, body, applyType);
    await this.#createSecret();
    await this.runWithHooks('install', chart, ...values);
    if ((await this.#items('/apis/apps/v1/namespaces/:ns/deployments')).length < 2) throw new Error('No Deployments.');
  }

  /** Creates each pod as a controller would, without keeping it. */
  async admitPods(): Promise<void> {
    const deployments = await this.#items('/apis/apps/v1/namespaces/:ns/deployments');
    for (const { metadata, spec } of deployments) {
      const { namespace } = this.#options;
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...spec.template.metadata, name: metadata.name },
        spec: spec.template.spec,
      };
      await must(this.#admin, 'POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);
      const bad = { ...pod, spec: { ...pod.spec, hostNetwork: true } };
      const { status } = await call(this.#admin, 'POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, bad);
      if (status !== 403) throw new Error(`A pod in the network of its host was answered ${status}.`);
    }
  }

  async upgrade(values: readonly string[]): Promise<void> {
    const { chart } = this.#options;
    const before = await this.#checksums();
    await this.runWithHooks('upgrade', chart, ...values);
    if (JSON.stringify(await this.#checksums()) !== JSON.stringify(before))
      throw new Error('Pods were replaced needlessly.');
    // Deployments with a secret of others: the chart gives its own secrets the names of its services.
    const readers = (await this.#items('/apis/apps/v1/namespaces/:ns/deployments')).filter(({ metadata, spec }) =>
      spec.template.spec.containers.some(({ env }: Item) =>
        env.some(({ valueFrom }: Item) => valueFrom && valueFrom.secretKeyRef.name !== metadata.name),
      ),
    );
    await this.runWithHooks('upgrade', chart, ...values, '--set-string', 'secretsRevision=next');
    const after = await this.#checksums();
    const replaced = Object.keys(after).filter((name) => after[name] !== before[name]);
    const expected = readers.map(({ metadata }) => metadata.name);
    if (replaced.sort().join() !== expected.sort().join()) throw new Error(`Replaced: ${replaced}, not ${expected}.`);
  }

  async remove(): Promise<void> {
    await this.#helm('uninstall');
    const left: string[] = [];
    for (const collection of collections) {
      const items = await this.#items(collection);
      const own = items.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === 'corral');
      left.push(...own.map(({ metadata }) => `${collection.split('/').at(-1)}/${metadata.name}`));
    }
    if (left.length > 0) throw new Error(`Left: ${left.join(', ')}`);
  }

  /** Runs Helm, and meanwhile ends the Jobs and pods of hooks, as they would on a node. */
  async runWithHooks(command: 'install' | 'upgrade' | 'test', ...args: string[]): Promise<void> {
    let isDone = false;
    const running = this.#helm(command, ...args).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await this.#endHooks();
      await Promise.race([running.catch(() => undefined), setTimeout(200)]);
    }
    await running;
  }

  async #endHooks(): Promise<void> {
    const now = new Date().toISOString();
    const condition = (type: string) => ({ type, status: 'True', lastProbeTime: now, lastTransitionTime: now });
    for (const { metadata, status } of await this.#items('/apis/batch/v1/namespaces/:ns/jobs')) {
      if (status.completionTime !== undefined) continue;
      const conditions = [condition('SuccessCriteriaMet'), condition('Complete')];
      await this.#setStatus('/apis/batch/v1', `jobs/${metadata.name}`, {
        startTime: now,
        completionTime: now,
        succeeded: 1,
        conditions,
      });
    }
    for (const { metadata, status } of await this.#items('/api/v1/namespaces/:ns/pods')) {
      if (status.phase !== 'Succeeded')
        await this.#setStatus('/api/v1', `pods/${metadata.name}`, { phase: 'Succeeded' });
    }
  }

  /** A hook that Helm has deleted meanwhile needs no status. */
  async #setStatus(group: string, path: string, status: object): Promise<void> {
    const url = `${group}/namespaces/${this.#options.namespace}/${path}/status`;
    const answer = await call(this.#admin, 'PATCH', url, { status }, mergeType);
    if (answer.status !== 200 && answer.status !== 404) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  }

  async #items(collection: string): Promise<readonly Item[]> {
    return (await must(this.#admin, 'GET', collection.replace(':ns', this.#options.namespace))).body.items;
  }

  /** The secret of an operator that most sets of values name. */
  async #createSecret(): Promise<void> {
    const { namespace } = this.#options;
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'upstream' }, stringData: { token: 'a token' } };
    await must(
      this.#admin,
      'PATCH',
      `/api/v1/namespaces/${namespace}/secrets/upstream?fieldManager=operator&force=true`,
      body,
      applyType,
    );
  }

  async #checksums(): Promise<Record<string, string>> {
    const deployments = await this.#items('/apis/apps/v1/namespaces/:ns/deployments');
    return Object.fromEntries(
      deployments.map(({ metadata, spec }) => [metadata.name, spec.template.metadata.annotations['checksum/secrets']]),
    );
  }

  async #helm(command: string, ...args: string[]): Promise<void> {
    const { helm, kubeconfig, namespace } = this.#options;
    const common = ['--kubeconfig', kubeconfig, '--namespace', namespace, '--timeout', '60s'];
    await run(helm, [command, 'corral', ...args, ...common], { timeout: 90_000 });
  }
}
