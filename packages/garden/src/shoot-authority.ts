import { type CallDeps, perform } from './call.js';
import { areCertificates } from './certificates.js';
import { objectIn, textIn } from './json.js';
import { configMapPath, type Named, secretPath } from './paths.js';
import { confidential, getCall } from './requests.js';
import { orAbsent } from './shoots.js';

const entry = 'ca.crt';
/** While authorities are exchanged there are two of them. */
const charactersMax = 32_768;

/**
 * Reads the certificate authority that Gardener keeps beside a Shoot in its Project: in a ConfigMap, and in older gardens
 * in a Secret of the same name (gardener: pkg/apiserver/registry/core/shoot/storage/kubeconfig.go).
 *
 * @returns PEM; null while there is none, or for what is no certificate
 */
export async function readAuthority(deps: CallDeps, shoot: Named, signal?: AbortSignal): Promise<string | null> {
  const kept = { namespace: shoot.namespace, name: `${shoot.name}.ca-cluster` };
  const inMap = await orAbsent(perform(deps, getCall('configmaps', configMapPath(kept)), signal));
  if (inMap !== null) return authorityOf(textIn(objectIn(inMap.body, 'data'), entry));
  const inSecret = await orAbsent(perform(deps, confidential(getCall('secrets', secretPath(kept))), signal));
  const encoded = inSecret && textIn(objectIn(inSecret.body, 'data'), entry);
  return encoded === null ? null : authorityOf(Buffer.from(encoded, 'base64').toString());
}

function authorityOf(text: string | null): string | null {
  return text !== null && areCertificates(text, charactersMax) ? text : null;
}
