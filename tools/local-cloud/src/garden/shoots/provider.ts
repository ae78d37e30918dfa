import { credentialsBindings, secrets, shoots } from '../../kube/kinds.js';
import { type ObjectStore, objectOf } from '../../kube/store.js';
import { idOf, isMachine, nodesOf, POOL } from '../nodes.js';
import type { CredentialsBinding, Secret } from '../objects.js';
import type { GardenParts } from '../parts.js';
import type { FlowFault } from './flows.js';
import { findWorker, type Shoot } from './shoot.js';

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
  const binding = store.get(credentialsBindings.plural, metadata.namespace ?? '', spec.credentialsBindingName ?? '');
  if (binding === null) return null;
  const { namespace = '', name = '' } = objectOf<CredentialsBinding>(binding).credentialsRef;
  const secret = store.get(secrets.plural, namespace, name);
  const value = secret && objectOf<Secret>(secret).data?.hcloudToken;
  return value == null ? null : Buffer.from(value, 'base64').toString('utf8').trim();
}

/** The nodes of all Shoots whose token belongs to the project, as the provider lists them among its servers. */
export function providerNodesOf({ store, projectTokens }: GardenParts, project: string) {
  return store.list(shoots.plural).flatMap((held) => {
    const shoot = objectOf<Shoot>(held);
    const token = tokenOf(store, shoot);
    if (token === null || projectTokens.projectOf(token) !== project) return [];
    const machines = nodesOf(store, held).filter(isMachine);
    return machines.map(({ name, labels, object }) => ({
      id: idOf(name),
      name,
      created: object.metadata.creationTimestamp ?? '',
      server_type: { name: findWorker(shoot.spec, labels[POOL] ?? '')?.machine.type ?? '' },
      location: { name: shoot.spec.region },
      labels: { 'mcm.gardener.cloud/cluster': shoot.status.technicalID, 'mcm.gardener.cloud/role': 'node' },
    }));
  });
}

export type ProviderNode = ReturnType<typeof providerNodesOf>[number];
