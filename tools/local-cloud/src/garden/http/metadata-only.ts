import type { KubeObject, ObjectMeta } from '../kube/object.js';
import { type Held, objectOf } from '../objects/held.js';

const META_VERSION = 'meta.k8s.io/v1';

/** In the order in which Go writes them (kubernetes: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go). */
const members = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const satisfies readonly (keyof ObjectMeta)[];

/** An object reduced to its metadata. */
export const metadataOnly = ({ metadata }: KubeObject) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: META_VERSION,
  metadata: Object.fromEntries(members.map((member) => [member, metadata[member]])),
});

/** A state never changes, so its text is made once. */
const texts = new WeakMap<Held, string>();

/** The JSON text of a state reduced to its metadata. */
export function metadataText(held: Held): string {
  const text = texts.get(held) ?? JSON.stringify(metadataOnly(objectOf(held)));
  texts.set(held, text);
  return text;
}

export const metadataListHead = { kind: 'PartialObjectMetadataList', apiVersion: META_VERSION };
