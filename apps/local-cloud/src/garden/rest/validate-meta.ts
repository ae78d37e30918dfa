import type { Kind } from '../kinds/kind.js';
import { checkDnsLabel, checkDnsSubdomain } from '../kinds/names.js';
import { type FieldError, forbiddenField, invalid } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import { isLabelKey, isLabelValue } from '../kube/selectors.js';

const ANNOTATION_BYTES_MAX = 256 * 1024;

const keyRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const valueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const LABEL_LENGTH_MAX = 63;

/** Checks what every object has, as `ValidateObjectMeta` does. */
export function validateMeta(kind: Kind, { metadata }: KubeObject, old: KubeObject | null): FieldError[] {
  const { name = '', labels = {}, annotations = {}, finalizers = [] } = metadata;
  const checkName = kind.nameIsLabel ? checkDnsLabel : checkDnsSubdomain;
  return [
    ...(old === null ? checkName('metadata.name', name) : []),
    ...Object.entries(labels).flatMap(([key, value]) => validateLabel(key, value)),
    ...validateAnnotations(annotations),
    ...validateFinalizers(finalizers, old),
  ];
}

function validateLabel(key: string, value: string): FieldError[] {
  const field = 'metadata.labels';
  const errors = isLabelKey(key) ? [] : [invalid(field, key, keyRule)];
  if (isLabelValue(value)) return errors;
  const isLong = value.length > LABEL_LENGTH_MAX;
  return [...errors, invalid(field, value, isLong ? 'must be no more than 63 characters' : valueRule)];
}

function validateAnnotations(annotations: Readonly<Record<string, string>>): FieldError[] {
  const field = 'metadata.annotations';
  const entries = Object.entries(annotations);
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  const errors = entries.flatMap(([key]) => (isLabelKey(key.toLowerCase()) ? [] : [invalid(field, key, keyRule)]));
  if (bytes <= ANNOTATION_BYTES_MAX) return errors;
  const message = `Too long: may not be more than ${ANNOTATION_BYTES_MAX} bytes`;
  return [...errors, { reason: 'FieldValueTooLong', field, message }];
}

/** Whoever wants to hold an object has to come before its deletion. */
function validateFinalizers(finalizers: readonly string[], old: KubeObject | null): FieldError[] {
  const field = 'metadata.finalizers';
  const errors = finalizers.flatMap((finalizer) => (isLabelKey(finalizer) ? [] : [invalid(field, finalizer, keyRule)]));
  if (old?.metadata.deletionTimestamp === undefined) return errors;
  const added = finalizers.filter((finalizer) => !old.metadata.finalizers?.includes(finalizer));
  if (added.length === 0) return errors;
  const rule = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
  return [...errors, forbiddenField(field, rule)];
}
