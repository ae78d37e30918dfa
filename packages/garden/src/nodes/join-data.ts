import { randomInt } from 'node:crypto';
import { isObject, type JsonObject } from '@corral/contracts';
import { parse } from 'yaml';
import type { CallDeps } from '../calls/call.js';
import { GardenError } from '../calls/garden-error.js';
import { objectIn, objectsIn, textIn, textMapIn } from '../calls/json.js';
import { type Named, secretPath, secretsPath } from '../calls/paths.js';
import { confidential, createCall, deleteCall, getCall, ofShoot } from '../calls/requests.js';
import { orAbsent, readShoot } from '../shoots/shoot-calls.js';
import type { JoinData, JoinRequest } from './client.js';
import { flawOf } from './join-rules.js';
import { listAll } from './list-all.js';
import type { ShootAccesses } from './shoot-access.js';

const resource = 'secrets';
const namespace = 'kube-system';
/** A Secret may have up to a megabyte. */
const secretsPerPage = 20;

/** Reads everything else first, to make no token for a server that cannot join. */
export async function joinData(
  deps: CallDeps,
  accesses: ShootAccesses,
  shoot: Named,
  { nodeName, architecture, tokenSeconds }: JoinRequest,
  signal?: AbortSignal,
): Promise<JoinData> {
  const pools = poolsOf((await readShoot(deps, shoot, signal))?.spec ?? {}, architecture);
  const secret = await findConfigSecret(accesses, shoot, pools, signal);
  const config = readWorkerConfig(secret);
  if (config === null) throw failure('unusable', 'the operating system config of the worker pool cannot be read');
  const { nodeAgentImage } = config;
  const kubernetesVersion = config.kubernetesVersion ?? (await readVersion(accesses, shoot, signal));
  const configured = { configSecretName: secret.name, nodeAgentImage, kubernetesVersion };
  refuseFlaw(configured);

  const token = newBootstrapToken();
  const object = renderBootstrapToken(token, nodeName, new Date(Date.now() + tokenSeconds * 1_000));
  const call = ofShoot(confidential(createCall(resource, secretsPath(namespace), object)));
  const { server, certificateAuthority } = (await accesses.perform(shoot, call, signal)).from;
  const reached = { server, certificateAuthority: certificateAuthority ?? '' };
  refuseFlaw(reached);
  return { ...configured, ...reached, bootstrapToken: `${token.id}.${token.secret}` };
}

/** @throws GardenError `not_found` when no pool has one */
async function findConfigSecret(
  accesses: ShootAccesses,
  shoot: Named,
  pools: readonly string[],
  signal?: AbortSignal,
): Promise<ConfigSecret> {
  const listed = {
    resource,
    path: secretsPath(namespace),
    query: { labelSelector: configSecretSelector },
    pageSize: secretsPerPage,
    confidential: true,
  };
  const take = (object: JsonObject) => {
    const secret = parseConfigSecret(object);
    return secret !== null && pools.includes(secret.pool) ? secret : null;
  };
  const secrets = pools.length === 0 ? [] : await listAll(accesses, shoot, listed, take, signal);
  const chosen = chooseConfigSecret(secrets, pools);
  if (chosen === undefined) {
    throw failure('not_found', 'no worker pool of the architecture has a config for nodes');
  }
  return chosen;
}

/** The version for a config that does not state it. */
async function readVersion(accesses: ShootAccesses, shoot: Named, signal?: AbortSignal): Promise<string> {
  const { body } = await accesses.perform(shoot, ofShoot(getCall('version', '/version')), signal);
  return /^v(\d+\.\d+\.\d+)/.exec(textIn(body, 'gitVersion') ?? '')?.[1] ?? '';
}

function refuseFlaw(join: Partial<JoinData>): void {
  const flaw = flawOf(join);
  if (flaw !== null) throw failure('unusable', `no server can join with this ${flaw}`);
}

function failure(kind: 'not_found' | 'unusable', why: string): GardenError {
  return new GardenError(kind, `join data of a shoot: ${why}`, { fromShoot: true });
}

/** Deletes the bootstrap tokens of a node. There are several if a process died between two steps. */
export async function endJoin(
  accesses: ShootAccesses,
  shoot: Named,
  nodeName: string,
  signal?: AbortSignal,
): Promise<void> {
  const listed = {
    resource,
    path: secretsPath(namespace),
    pageSize: 20,
    confidential: true,
    query: { fieldSelector: 'type=bootstrap.kubernetes.io/token', labelSelector: `${nodeLabel}=${nodeName}` },
  };
  const nameOf = (secret: JsonObject) => textIn(objectIn(secret, 'metadata'), 'name');
  const names = (await orAbsent(listAll(accesses, shoot, listed, nameOf, signal))) ?? [];
  for (const name of names) {
    const call = ofShoot(confidential(deleteCall(resource, secretPath({ namespace, name }))));
    await orAbsent(accesses.perform(shoot, call, signal));
  }
}

interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

/** Label with the node that a token was made for. Used to delete the token after the node has joined. */
const nodeLabel = 'corral.dev/joins-as';

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Format: kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens. */
export function newBootstrapToken(): BootstrapToken {
  return { id: randomText(6), secret: randomText(16) };
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/**
 * Renders the Secret that makes a token valid, with the fields of Gardener's own machine tokens
 * (gardener/machine-controller-manager: pkg/util/provider/machinecontroller/machine_bootstrap_token.go). It needs no
 * extra groups: `system:bootstrappers` has all rights that nodes need. Gardener's tokens may also sign, which a server
 * that already has the certificate authority does not need. The cluster removes the Secret after its expiry.
 */
function renderBootstrapToken({ id, secret }: BootstrapToken, nodeName: string, expiresAt: Date): JsonObject {
  const fields = {
    description: `For the server ${nodeName} to join as a node.`,
    'token-id': id,
    'token-secret': secret,
    expiration: `${expiresAt.toISOString().slice(0, 19)}Z`,
    'usage-bootstrap-authentication': 'true',
  };
  const data = Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString('base64')] as const);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}`, labels: { [nodeLabel]: nodeName } },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(data),
  };
}

/** The Secret with the operating system config of a worker pool, from a Shoot. */
interface ConfigSecret {
  readonly name: string;
  readonly pool: string;
  readonly createdAt: string;
  readonly kubernetesVersion: string | null;
  /** an OperatingSystemConfig: YAML, base64-encoded */
  readonly config: string;
}

/** The node agent settings of a worker pool's config. */
interface WorkerConfig {
  readonly nodeAgentImage: string;
  /** null when it does not say */
  readonly kubernetesVersion: string | null;
}

/** gardener: pkg/component/extensions/operatingsystemconfig/original/components/nodeagent/secrets.go. */
const configSecretSelector = 'gardener.cloud/role=operating-system-config';

function parseConfigSecret(secret: JsonObject): ConfigSecret | null {
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
function poolsOf(shootSpec: JsonObject, architecture: string): string[] {
  return objectsIn(objectIn(shootSpec, 'provider'), 'workers')
    .filter((worker) => (textIn(objectIn(worker, 'machine'), 'architecture') ?? 'amd64') === architecture)
    .map((worker) => textIn(worker, 'name'))
    .filter((name) => name !== null);
}

/** Chooses the Secret of the first pool that has one. During a rolling update a pool has two: the newer one is chosen. */
function chooseConfigSecret(secrets: readonly ConfigSecret[], pools: readonly string[]): ConfigSecret | undefined {
  const newestFirst = secrets.toSorted((a, b) => compare(b.createdAt, a.createdAt) || compare(a.name, b.name));
  return pools.map((pool) => newestFirst.find((secret) => secret.pool === pool)).find((secret) => secret !== undefined);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const nodeAgentPath = '/opt/bin/gardener-node-agent';
// The name contains the agent's version.
const nodeAgentConfigPath = /^\/var\/lib\/gardener-node-agent\/config[\w.+-]*\.yaml$/;

/** @returns null when the config cannot be read, or has no node agent */
function readWorkerConfig({ config, kubernetesVersion }: ConfigSecret): WorkerConfig | null {
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
