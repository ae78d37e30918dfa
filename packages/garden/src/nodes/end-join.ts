import { type JsonObject, objectIn, textIn } from '../json.js';
import { type Named, secretPath, secretsPath } from '../paths.js';
import { confidential, deleteCall, ofShoot } from '../requests.js';
import { orAbsent } from '../shoots.js';
import { nodeLabel } from './bootstrap-token.js';
import { listAll } from './list-all.js';
import type { ShootAccesses } from './shoot-access.js';

const resource = 'secrets';
const namespace = 'kube-system';

/** More than one was made where a process died between two steps. */
export async function endJoin(
  accesses: ShootAccesses,
  shoot: Named,
  nodeName: string,
  signal?: AbortSignal,
): Promise<void> {
  const listed = {
    ...{ resource, path: secretsPath(namespace), pageSize: 20, confidential: true },
    query: { fieldSelector: 'type=bootstrap.kubernetes.io/token', labelSelector: `${nodeLabel}=${nodeName}` },
  };
  const nameOf = (secret: JsonObject) => textIn(objectIn(secret, 'metadata'), 'name');
  const names = (await orAbsent(listAll(accesses, shoot, listed, nameOf, signal))) ?? [];
  for (const name of names) {
    const call = ofShoot(confidential(deleteCall(resource, secretPath({ namespace, name }))));
    await orAbsent(accesses.perform(shoot, call, signal));
  }
}
