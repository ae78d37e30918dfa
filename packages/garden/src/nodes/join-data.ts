import type { JsonObject } from '@corral/service';
import type { CallDeps } from '../calls/call.js';
import { GardenError } from '../calls/garden-error.js';
import { objectIn, textIn } from '../calls/json.js';
import { type Named, secretPath, secretsPath } from '../calls/paths.js';
import { confidential, createCall, deleteCall, getCall, ofShoot } from '../calls/requests.js';
import { orAbsent, readShoot } from '../shoots/shoot-calls.js';
import { newBootstrapToken, nodeLabel, renderBootstrapToken } from './bootstrap-token.js';
import type { JoinData, JoinRequest } from './client.js';
import { flawOf } from './join-rules.js';
import { listAll } from './list-all.js';
import type { ShootAccesses } from './shoot-access.js';
import {
  type ConfigSecret,
  chooseConfigSecret,
  configSecretSelector,
  parseConfigSecret,
  poolsOf,
  readWorkerConfig,
} from './worker-config.js';

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

/** For a config that does not state its Kubernetes version. */
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
