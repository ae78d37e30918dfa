import type { JsonObject } from '@corral/contracts';
import type { Call, CallDeps } from '../calls/call.js';
import { objectIn, objectsIn, textIn } from '../calls/json.js';
import { type Named, objectPath } from '../calls/paths.js';
import { applyCall, confidential, deleteCall, getCall, ofShoot } from '../calls/requests.js';
import { listAll } from '../nodes/list-all.js';
import type { ShootAccesses } from '../nodes/shoot-access.js';
import { orAbsent } from '../shoots/shoot-calls.js';
import type { BalancerReading, ObjectRef, ShootObjects } from './client.js';

/** @param accesses with all rights in the Shoots */
export function shootObjects({ fieldManager }: Pick<CallDeps, 'fieldManager'>, accesses: ShootAccesses): ShootObjects {
  return {
    async read(shoot, object, signal) {
      const { resource, path } = placeOf(object);
      const answer = await orAbsent(accesses.perform(shoot, callOf(object, getCall(resource, path)), signal));
      return answer === null ? null : answer.body;
    },
    async apply(shoot, manifest, options, signal) {
      const { resource, path } = placeOf(manifest);
      const call = callOf(manifest, applyCall(resource, path, fieldManager, manifest, options));
      return (await accesses.perform(shoot, call, signal)).body;
    },
    async delete(shoot, object, signal) {
      const { resource, path } = placeOf(object);
      await orAbsent(accesses.perform(shoot, callOf(object, deleteCall(resource, path)), signal));
    },
  };
}

const callOf = ({ kind }: ObjectRef, call: Call): Call => ofShoot(kind === 'Secret' ? confidential(call) : call);

function placeOf({ apiVersion, kind, metadata: { namespace, name } }: ObjectRef) {
  const resource = resourceOf(kind);
  return { resource, path: objectPath({ apiVersion, resource, namespace, name }) };
}

/** The plural of a kind, guessed as `UnsafeGuessKindToResource` of kubernetes/apimachinery does. */
export function resourceOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith('s')) return `${singular}es`;
  return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}

const pages = { pageSize: 100, pagesMax: 20 };
/** The API server filters Services by type, but Ingresses by nothing. */
const listed = [
  {
    kind: 'Service',
    resource: 'services',
    path: '/api/v1/services',
    query: { fieldSelector: 'spec.type=LoadBalancer' },
  },
  { kind: 'Ingress', resource: 'ingresses', path: '/apis/networking.k8s.io/v1/ingresses', query: {} },
] as const;

/** Lists where the load balancers and Ingresses of a Shoot can be reached. @param accesses need read access only */
export async function listBalancers(
  accesses: ShootAccesses,
  shoot: Named,
  signal?: AbortSignal,
): Promise<BalancerReading[]> {
  const found: BalancerReading[] = [];
  // One after the other: each call at the same time would open a connection of its own.
  for (const { kind, ...resource } of listed) {
    const take = (object: JsonObject) => balancerOf(kind, object);
    found.push(...(await listAll(accesses, shoot, { ...resource, ...pages }, take, signal)));
  }
  return found;
}

/** @returns null without an address */
function balancerOf(kind: BalancerReading['kind'], object: JsonObject): BalancerReading | null {
  const metadata = objectIn(object, 'metadata');
  const ingress = objectsIn(objectIn(objectIn(object, 'status'), 'loadBalancer'), 'ingress');
  const addresses = ingress
    .flatMap((entry) => [textIn(entry, 'ip'), textIn(entry, 'hostname')])
    .filter((address) => address !== null);
  if (addresses.length === 0) return null;
  return { kind, namespace: textIn(metadata, 'namespace') ?? '', name: textIn(metadata, 'name') ?? '', addresses };
}
