import { createHash } from 'node:crypto';
import type { CredentialsBinding, Secret } from '../kinds.js';
import type { GardenParts } from '../parts.js';
import { type ObjectStore, objectOf } from '../store.js';
import { type FlowFault, findWorker, type Shoot } from './shoot.js';

const tokenFaults = {
  unknown: {
    codes: ['ERR_INFRA_UNAUTHENTICATED'],
    message: 'hcloud: the token you have provided is invalid (unauthorized)',
  },
  'read-only': {
    codes: ['ERR_INFRA_UNAUTHORIZED'],
    message: 'hcloud: the token is only allowed to perform GET requests (token_readonly)',
  },
} as const;

/** What the provider has against the token of a Shoot; null for nothing. */
export function tokenFaultOf({ store, projectTokens }: GardenParts, shoot: Shoot): FlowFault | null {
  const token = tokenOf(store, shoot);
  const state = token === null ? 'unknown' : projectTokens.stateOf(token);
  return state === 'known' ? null : tokenFaults[state];
}

function tokenOf(store: ObjectStore, { metadata, spec }: Shoot): string | null {
  const binding = store.get('credentialsbindings', metadata.namespace ?? '', spec.credentialsBindingName ?? '');
  if (binding === null) return null;
  const { namespace = '', name = '' } = objectOf<CredentialsBinding>(binding).credentialsRef;
  const secret = store.get('secrets', namespace, name);
  const value = secret && objectOf<Secret>(secret).data?.hcloudToken;
  return value == null ? null : Buffer.from(value, 'base64').toString('utf8').trim();
}

/** The nodes of all Shoots whose token belongs to the project, as the provider lists them among its servers. */
export function providerNodesOf({ store, projectTokens }: GardenParts, project: string) {
  return store.list('shoots').flatMap((held) => {
    const shoot = objectOf<Shoot>(held);
    const token = tokenOf(store, shoot);
    const { reconciled } = held.simulation;
    if (token === null || reconciled === undefined || projectTokens.projectOf(token) !== project) return [];
    return reconciled.machines.map(({ name, pool, createdAt }) => ({
      id: numberOf(name),
      name,
      created: createdAt,
      server_type: { name: findWorker(reconciled.spec, pool)?.machine.type ?? '' },
      location: { name: reconciled.spec.region },
      labels: { 'mcm.gardener.cloud/cluster': shoot.status.technicalID, 'mcm.gardener.cloud/role': 'node' },
    }));
  });
}

export type ProviderNode = ReturnType<typeof providerNodesOf>[number];

/** Stable for a name, and distinct from ids of other servers. */
const numberOf = (name: string): number =>
  2 ** 40 + Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 9), 16);
