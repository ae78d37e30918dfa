import { randomInt, randomUUID } from 'node:crypto';
import { timestamp } from '../../clock.js';
import type { Kind } from '../kinds/kind.js';
import { required } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import { invalidObject } from '../kube/status-error.js';

/** What callers send for these fields does not count. */
export function keepServerFields(object: KubeObject, old: KubeObject | null, nowMs: number): void {
  const { metadata } = object;
  if (old === null) {
    metadata.uid = randomUUID();
    metadata.creationTimestamp = timestamp(nowMs);
    delete metadata.deletionTimestamp;
    delete metadata.deletionGracePeriodSeconds;
    delete metadata.resourceVersion;
    return;
  }
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation, generateName } =
    old.metadata;
  for (const [field, value] of Object.entries({
    uid,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    generation,
    generateName,
    namespace: old.metadata.namespace,
    name: old.metadata.name,
    resourceVersion: old.metadata.resourceVersion,
  })) {
    if (value === undefined) delete metadata[field as keyof typeof metadata];
    else Object.assign(metadata, { [field]: value });
  }
}

/** The characters that Kubernetes uses: none that could spell a word. */
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** Gives a new object its place and, if it has only the beginning of a name, the rest. @throws StatusError 422 */
export function nameNew(kind: Kind, object: KubeObject, namespace: string): void {
  const { metadata } = object;
  if (kind.namespaced) metadata.namespace = namespace;
  else delete metadata.namespace;
  if ((metadata.name ?? '') !== '') return;
  if ((metadata.generateName ?? '') === '') {
    throw invalidObject(kind, '', [required('metadata.name', 'name or generateName is required')]);
  }
  const suffix = Array.from({ length: 5 }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]).join('');
  metadata.name = `${metadata.generateName}${suffix}`;
}
