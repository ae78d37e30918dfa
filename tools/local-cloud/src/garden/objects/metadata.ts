import { randomUUID } from 'node:crypto';
import { timestamp } from '../../clock.js';
import { isLabelKey, isLabelValue } from '../../labels.js';
import type { Kind } from '../kinds/kind.js';
import { checkDnsLabel, checkDnsSubdomain, type FieldError, invalid, required } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import { invalidObject } from '../kube/status-error.js';

/** Overwrites the fields that only the server sets. */
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
  const kept = ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const;
  for (const field of [...kept, 'namespace', 'name', 'resourceVersion'] as const) {
    if (old.metadata[field] === undefined) delete metadata[field];
    else Object.assign(metadata, { [field]: old.metadata[field] });
  }
}

/** Sets the name and namespace of a new object. @throws StatusError 422 if it has no name */
export function nameNew(kind: Kind, object: KubeObject, namespace: string): void {
  const { metadata } = object;
  if (kind.namespaced) metadata.namespace = namespace;
  else delete metadata.namespace;
  if ((metadata.name ?? '') === '') throw invalidObject(kind, '', [required('metadata.name', 'name is required')]);
}

const keyRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const valueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** Checks the common metadata, like `ValidateObjectMeta`. */
export function validateMeta(kind: Kind, { metadata }: KubeObject, old: KubeObject | null): FieldError[] {
  const { name = '', labels = {}, annotations = {} } = metadata;
  const checkName = kind.nameIsLabel ? checkDnsLabel : checkDnsSubdomain;
  const checkKeys = (field: string, keys: readonly string[]): FieldError[] =>
    keys.flatMap((key) => (isLabelKey(key) ? [] : [invalid(field, key, keyRule)]));
  return [
    ...(old === null ? checkName('metadata.name', name) : []),
    ...checkKeys('metadata.labels', Object.keys(labels)),
    ...Object.values(labels).flatMap((value) =>
      isLabelValue(value) ? [] : [invalid('metadata.labels', value, valueRule)],
    ),
    ...checkKeys('metadata.annotations', Object.keys(annotations)),
  ];
}
