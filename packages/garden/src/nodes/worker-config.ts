import { isObject, type JsonObject } from '@corral/service';
import { parse } from 'yaml';
import { objectIn, objectsIn, textIn, textMapIn } from '../calls/json.js';

/** The Secret with the operating system config of a worker pool, from a Shoot. */
export interface ConfigSecret {
  readonly name: string;
  readonly pool: string;
  readonly createdAt: string;
  readonly kubernetesVersion: string | null;
  /** an OperatingSystemConfig: YAML, base64-encoded */
  readonly config: string;
}

/** The node agent settings of a worker pool's config. */
export interface WorkerConfig {
  readonly nodeAgentImage: string;
  /** null when it does not say */
  readonly kubernetesVersion: string | null;
}

/** gardener: pkg/component/extensions/operatingsystemconfig/original/components/nodeagent/secrets.go. */
export const configSecretSelector = 'gardener.cloud/role=operating-system-config';

export function parseConfigSecret(secret: JsonObject): ConfigSecret | null {
  const metadata = objectIn(secret, 'metadata');
  const labels = textMapIn(metadata, 'labels');
  const name = textIn(metadata, 'name');
  const pool = labels['worker.gardener.cloud/pool'];
  const config = textIn(objectIn(secret, 'data'), 'osc.yaml');
  if (name === null || pool === undefined || config === null) return null;
  return {
    name,
    pool,
    createdAt: textIn(metadata, 'creationTimestamp') ?? '',
    kubernetesVersion: labels['worker.gardener.cloud/kubernetes-version'] ?? null,
    config,
  };
}

/** Names the worker pools of an architecture, in the Shoot's order. Gardener's default is amd64. */
export function poolsOf(shootSpec: JsonObject, architecture: string): string[] {
  return objectsIn(objectIn(shootSpec, 'provider'), 'workers')
    .filter((worker) => (textIn(objectIn(worker, 'machine'), 'architecture') ?? 'amd64') === architecture)
    .map((worker) => textIn(worker, 'name'))
    .filter((name) => name !== null);
}

/** Chooses the Secret of the first pool that has one. During a rolling update a pool has two: the newer one is chosen. */
export function chooseConfigSecret(
  secrets: readonly ConfigSecret[],
  pools: readonly string[],
): ConfigSecret | undefined {
  const newestFirst = secrets.toSorted((a, b) => compare(b.createdAt, a.createdAt) || compare(a.name, b.name));
  return pools.map((pool) => newestFirst.find((secret) => secret.pool === pool)).find((secret) => secret !== undefined);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const nodeAgentPath = '/opt/bin/gardener-node-agent';
// The name contains the agent's version.
const nodeAgentConfigPath = /^\/var\/lib\/gardener-node-agent\/config[\w.+-]*\.yaml$/;

/** @returns null when the config cannot be read, or has no node agent */
export function readWorkerConfig({ config, kubernetesVersion }: ConfigSecret): WorkerConfig | null {
  const files = objectsIn(objectIn(parseYaml(Buffer.from(config, 'base64').toString()), 'spec'), 'files');
  const agent = files.find(({ path }) => path === nodeAgentPath);
  const nodeAgentImage = textIn(objectIn(objectIn(agent, 'content'), 'imageRef'), 'image');
  if (nodeAgentImage === null) return null;
  return { nodeAgentImage, kubernetesVersion: kubernetesVersion ?? versionOfAgentConfig(files) };
}

/** The Kubernetes version in the agent's configuration of this pool. */
function versionOfAgentConfig(files: readonly JsonObject[]): string | null {
  const file = files.find(({ path }) => typeof path === 'string' && nodeAgentConfigPath.test(path));
  const inline = objectIn(objectIn(file, 'content'), 'inline');
  const data = textIn(inline, 'data') ?? '';
  const text = inline.encoding === 'b64' ? Buffer.from(data, 'base64').toString() : data;
  const controllers = objectIn(parseYaml(text), 'controllers');
  return textIn(objectIn(controllers, 'operatingSystemConfig'), 'kubernetesVersion');
}

function parseYaml(text: string): JsonObject | null {
  try {
    // Go writes no aliases. Without this limit, a small text could expand to a huge one.
    const value: unknown = parse(text, { maxAliasCount: 0, logLevel: 'error' });
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
