import { credentialsBindings, secrets, shoots } from '../../kube/kinds.js';
import { inGarden, type ObjectStore } from '../../kube/store.js';
import { idOf, isMachine, nodesOf } from '../nodes.js';
import type { GardenParts } from '../parts.js';
import type { FlowFault } from './flows.js';
import type { Shoot } from './shoot.js';

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
  const binding = store.find(
    inGarden(credentialsBindings, metadata.namespace ?? '', spec.credentialsBindingName ?? ''),
  );
  const { namespace = '', name = '' } = binding?.object.credentialsRef ?? {};
  const value = store.find(inGarden(secrets, namespace, name))?.object.data?.hcloudToken;
  return value === undefined ? null : Buffer.from(value, 'base64').toString('utf8').trim();
}

/** The nodes of all Shoots whose token belongs to the project, as the provider lists them among its servers. */
export function providerNodesOf({ store, projectTokens }: GardenParts, project: string) {
  return store.list(shoots).flatMap((held) => {
    const token = tokenOf(store, held.object);
    if (token === null || projectTokens.projectOf(token) !== project) return [];
    const labels = { 'mcm.gardener.cloud/cluster': held.object.status.technicalID };
    const machines = nodesOf(store, held).filter(isMachine);
    return machines.map(({ name }) => ({ id: idOf(name), name, labels }));
  });
}

export type ProviderNode = ReturnType<typeof providerNodesOf>[number];
