import type { TokenState } from '../../project-tokens.js';
import type { Secret } from '../kinds/core-kinds.js';
import type { CredentialsBinding } from '../kinds/credentials-binding.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { sharedObjectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';
import { firstProviderTask } from './flow-plan.js';
import type { FlowFault } from './simulation.js';

/** The key of the Secret that every component of the extension reads. */
const TOKEN_KEY = 'hcloudToken';

/** Asks the provider whether the token of a Shoot works; null when it does, or when the Shoot needs none. */
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

/** The token that a Shoot's credentials hold; null without any. */
export function tokenOf(store: ObjectStore, { metadata, spec }: Pick<Shoot, 'metadata' | 'spec'>): string | null {
  const { namespace = '' } = metadata;
  const bindingName = spec.credentialsBindingName;
  if (bindingName === undefined) return null;
  const binding = store.get('credentialsbindings', namespace, bindingName);
  if (binding === null) return null;
  const { credentialsRef } = sharedObjectOf<CredentialsBinding>(binding);
  const secret = store.get('secrets', credentialsRef.namespace ?? namespace, credentialsRef.name ?? '');
  const value = secret && sharedObjectOf<Secret>(secret).data?.[TOKEN_KEY];
  return value == null ? null : Buffer.from(value, 'base64').toString('utf8').trim();
}
