import { createHash } from 'node:crypto';
import type { TokenState } from '../../project-tokens.js';
import type { Secret } from '../kinds/core-kinds.js';
import type { CredentialsBinding } from '../kinds/projects.js';
import { findWorker, type Shoot } from '../kinds/shoot/shoot.js';
import { objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import { firstProviderTask } from './flow-plan.js';
import { type FlowFault, simulationOf } from './simulation.js';

/** Key in the Secret that every component of the extension reads. */
const TOKEN_KEY = 'hcloudToken';

/** Checks the token of a Shoot at the provider; null if it is valid or the Shoot needs none. */
export function tokenFaultOf(
  store: ObjectStore,
  { metadata, spec, status }: Shoot,
  tokenState: (token: string) => TokenState,
): FlowFault | null {
  if (spec.credentialsBindingName === undefined) return null;
  const token = tokenOf(store, { metadata, spec });
  const type = metadata.deletionTimestamp === undefined ? 'Reconcile' : 'Delete';
  const fault = (code: string, said: string): FlowFault => ({
    codes: [code],
    task: firstProviderTask(type),
    message: `error during reconciliation of Infrastructure ${status.technicalID}/${metadata.name}: hcloud: ${said}`,
  });
  const state = token === null ? 'unknown' : tokenState(token);
  if (state === 'unknown') {
    return fault('ERR_INFRA_UNAUTHENTICATED', 'the token you have provided is invalid (unauthorized)');
  }
  if (state === 'read-only') {
    return fault('ERR_INFRA_UNAUTHORIZED', 'the token is only allowed to perform GET requests (token_readonly)');
  }
  return null;
}

/** The token in a Shoot's credentials; null if there is none. */
function tokenOf(store: ObjectStore, { metadata, spec }: Pick<Shoot, 'metadata' | 'spec'>): string | null {
  const { namespace = '' } = metadata;
  const bindingName = spec.credentialsBindingName;
  if (bindingName === undefined) return null;
  const binding = store.get('credentialsbindings', namespace, bindingName);
  if (binding === null) return null;
  const { credentialsRef } = objectOf<CredentialsBinding>(binding);
  const secret = store.get('secrets', credentialsRef.namespace ?? namespace, credentialsRef.name ?? '');
  const value = secret && objectOf<Secret>(secret).data?.[TOKEN_KEY];
  return value == null ? null : Buffer.from(value, 'base64').toString('utf8').trim();
}

/** A node of a Shoot as the provider lists it among the servers: made by the garden with the Shoot's token. */
export interface ProviderNode {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly server_type: { readonly name: string };
  readonly location: { readonly name: string };
  readonly labels: Readonly<Record<string, string>>;
}

/** The nodes of all Shoots whose token belongs to the project. */
export function providerNodesOf(
  store: ObjectStore,
  project: string,
  projectOf: (token: string) => string,
): ProviderNode[] {
  return store.list('shoots').flatMap((held) => {
    const shoot = objectOf<Shoot>(held);
    const token = tokenOf(store, shoot);
    if (token === null || projectOf(token) !== project) return [];
    const { spec, machines } = simulationOf(held).reconciled ?? { spec: shoot.spec, machines: [] };
    return machines.map(({ name, pool, createdAt }) => ({
      id: numberOf(name),
      name,
      created: createdAt,
      server_type: { name: findWorker(spec, pool)?.machine.type ?? '' },
      location: { name: spec.region },
      labels: { 'mcm.gardener.cloud/cluster': shoot.status.technicalID, 'mcm.gardener.cloud/role': 'node' },
    }));
  });
}

/** Stable for a name, and distinct from ids of other servers. */
const numberOf = (name: string): number =>
  2 ** 40 + Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 9), 16);
