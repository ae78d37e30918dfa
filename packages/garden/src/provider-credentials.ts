import { type Call, type CallDeps, perform } from './calls/call.js';
import { isGardenError } from './calls/garden-error.js';
import { credentialsBindingPath, type Named, secretPath } from './calls/paths.js';
import { applyCall, confidential, deleteCall } from './calls/requests.js';
import type { CredentialsDeclaration } from './client.js';

const providerType = 'hcloud';

/** The binding comes second: admission refuses a binding to an unknown Secret. */
export async function applyCredentials(
  deps: CallDeps,
  { namespace, name, token, labels, force = false }: CredentialsDeclaration,
  signal?: AbortSignal,
): Promise<void> {
  const metadata = { namespace, name, labels };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    data: { hcloudToken: Buffer.from(token).toString('base64') },
  };
  const binding = {
    apiVersion: 'security.gardener.cloud/v1alpha1',
    kind: 'CredentialsBinding',
    metadata,
    provider: { type: providerType },
    credentialsRef: { apiVersion: 'v1', kind: 'Secret', name, namespace },
  };
  await perform(
    deps,
    confidential(applyCall('secrets', secretPath(metadata), deps.fieldManager, secret, { force })),
    signal,
  );
  const path = credentialsBindingPath(metadata);
  await perform(deps, applyCall('credentialsbindings', path, deps.fieldManager, binding, { force }), signal);
}

/** The binding goes first, because it refers to the Secret. */
export async function deleteCredentials(
  deps: CallDeps,
  credentials: Named,
  signal?: AbortSignal,
): Promise<'accepted' | 'absent'> {
  const binding = await deleteIfThere(
    deps,
    deleteCall('credentialsbindings', credentialsBindingPath(credentials)),
    signal,
  );
  const secret = await deleteIfThere(deps, confidential(deleteCall('secrets', secretPath(credentials))), signal);
  return binding === 'absent' && secret === 'absent' ? 'absent' : 'accepted';
}

async function deleteIfThere(deps: CallDeps, call: Call, signal?: AbortSignal): Promise<'accepted' | 'absent'> {
  try {
    await perform(deps, call, signal);
    return 'accepted';
  } catch (error) {
    if (!isGardenError(error, 'not_found')) throw error;
    return 'absent';
  }
}
