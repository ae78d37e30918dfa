import { checkFields, withoutUnknown } from '../fields/check-fields.js';
import { apiVersionOf, type Kind } from '../kinds/kind.js';
import { invalid } from '../kube/field-error.js';
import { fieldAt, isFields, type KubeObject, withoutNulls } from '../kube/object.js';
import { badRequest, invalidObject, StatusError } from '../kube/status-error.js';

/**
 * Reads the body of an apply patch, like a server's type converter, which rejects unknown fields.
 *
 * @param undeclared fields that this version of the garden does not have
 * @throws StatusError 400; 500 for an unknown field, as real servers answer
 */
export function readApplied(
  kind: Kind,
  body: unknown,
  namespace: string,
  name: string,
  undeclared: readonly string[],
): KubeObject {
  if (!isFields(body)) throw badRequest('error decoding YAML: the body is no object');
  const { apiVersion, kind: bodyKind, metadata } = body;
  if (typeof bodyKind !== 'string' || bodyKind === '') {
    throw badRequest("Object 'Kind' is missing in the applied configuration");
  }
  if (typeof apiVersion !== 'string' || apiVersion !== apiVersionOf(kind) || bodyKind !== kind.kind) {
    throw badRequest(
      `the API version and kind in the data (${apiVersion}, ${bodyKind}) do not match the expected (${apiVersionOf(kind)}, ${kind.kind})`,
    );
  }
  if (metadata !== undefined && !isFields(metadata)) throw badRequest('metadata is no object');
  const object: KubeObject = { ...body, apiVersion, kind: bodyKind, metadata: { ...metadata } };
  if (object.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  checkNames(object, namespace, name);
  const { unknown, mistyped } = checkFields(kind.schema, object, 'key');
  const tooNew = undeclared.filter((path) => fieldAt(object, ...path.split('.')) !== undefined);
  const [first] = [...unknown, ...tooNew];
  if (first !== undefined || mistyped !== null) {
    const what = first === undefined ? mistyped : `.${first}: field not declared in schema`;
    const full = `${namespace === '' ? '' : namespace}/${name}; ${apiVersion}, Kind=${bodyKind}`;
    throw new StatusError(500, '', `failed to create typed patch object (${full}): ${what}`);
  }
  object.metadata.name = name;
  return object;
}

/** @throws StatusError 400 if the body has another name or namespace than the path */
export function checkNames({ metadata }: KubeObject, namespace: string, name: string): void {
  if (metadata.name !== undefined && metadata.name !== '' && metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
  if (metadata.namespace !== undefined && metadata.namespace !== '' && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/** Reads the result of a patch like a request body. @throws StatusError 400, 422 */
export function readPatched(kind: Kind, value: unknown, name: string): KubeObject {
  if (!isFields(value) || !isFields(value.metadata)) throw badRequest('the patched object is no object with metadata');
  const { mistyped } = checkFields(kind.schema, value);
  if (mistyped !== null) {
    throw invalidObject(kind, name, [invalid('patch', value, mistyped)]);
  }
  const object = withoutNulls(withoutUnknown(kind.schema, value) as KubeObject);
  if (object.apiVersion !== apiVersionOf(kind) || object.kind !== kind.kind) {
    throw badRequest('the kind and version of an object cannot be patched');
  }
  return object;
}
