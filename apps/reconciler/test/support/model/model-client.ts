import { type GardenClient, GardenError, type GardenErrorKind, type Shoot } from '@corral/garden';
import { only } from '../only.js';
import { ModelGarden } from './model-garden.js';

/** A fault of a call to the garden. */
export type CallFault =
  /** Refused, or never arrived: it had no effect. */
  | { readonly when: 'before'; readonly kind: GardenErrorKind }
  /** It took effect, but the response was lost. */
  | { readonly when: 'after' };

export type GardenMethod = keyof GardenClient;

const profile = {
  name: 'hcloud',
  type: 'hcloud',
  images: [],
  maxNodesTotal: null,
  kubernetesVersions: ['1.33.7', '1.34.3'].map((version) => ({
    version,
    classification: 'supported',
    expirationDate: null,
  })),
  machineTypes: [{ name: 'cpx31', cpu: '4', memory: '8Gi', architecture: 'amd64', usable: true }],
  regions: [{ name: 'fsn1', zones: [{ name: 'fsn1-dc14', unavailableMachineTypes: [] }] }],
};

/** The model garden behind the client interface of a pass. Its clock is this machine's. */
export function modelClient() {
  const model = new ModelGarden({
    get now() {
      return new Date();
    },
  });
  /** Calls in the order in which they started. */
  const calls: GardenMethod[] = [];
  /** Faults by method, consumed one per call in order. */
  const faults = new Map<GardenMethod, CallFault[]>();

  const met = async <T>(method: GardenMethod, effect: () => T): Promise<T> => {
    calls.push(method);
    const fault = faults.get(method)?.shift();
    if (fault?.when === 'before') throw new GardenError(fault.kind, `${method} met a fault`);
    const answer = effect();
    if (fault?.when === 'after') throw new GardenError('uncertain', `the answer to ${method} was lost`);
    return answer;
  };
  return {
    model,
    calls,
    faults,
    client: only<GardenClient>({
      ensureProject: ({ name }) => met('ensureProject', () => ({ namespace: `garden-${name}`, ready: true })),
      applyCredentials: ({ token }) =>
        met('applyCredentials', () => {
          model.secretVersion = Number(token);
        }),
      readShoot: () => met('readShoot', () => model.shoot),
      applyShoot: (manifest) =>
        met('applyShoot', () => {
          const created = model.shoot === null;
          return { shoot: model.apply(manifest), created, appliedAt: new Date() };
        }),
      overrideShoot: (manifest) =>
        met('overrideShoot', () => ({
          shoot: model.apply(manifest, { force: true }),
          created: false,
          appliedAt: new Date(),
        })),
      readTimedShoot: () => met('readTimedShoot', () => model.shoot && { shoot: model.shoot, at: new Date() }),
      replaceWorkers: () => met('replaceWorkers', () => model.shoot as Shoot),
      annotateShoot: ({ uid, resourceVersion, annotations }) =>
        met('annotateShoot', () => {
          const operation = annotations['gardener.cloud/operation'];
          return model.annotate(uid, operation === 'retry' ? 'retry' : 'reconcile', resourceVersion);
        }),
      deleteShoot: ({ uid }) =>
        met('deleteShoot', () => {
          if (model.shoot === null) return 'absent';
          model.delete(uid);
          return 'accepted';
        }),
      readAuthority: () => met('readAuthority', () => model.authority),
      readCloudProfile: () => met('readCloudProfile', () => profile),
    }),
  };
}
