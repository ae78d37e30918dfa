import type { Request } from 'express';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { checkFields, withoutUnknown } from '../fields/check-fields.js';
import { apiVersionOf, type Kind } from '../kinds/kind.js';
import { isFields, type KubeObject } from '../kube/object.js';
import { badRequest, unsupportedMediaType } from '../kube/status-error.js';
import type { Patch } from '../objects/preconditions.js';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';

const patchTypes = {
  'application/merge-patch+json': 'merge',
  'application/apply-patch+yaml': 'apply',
} as const;

const mediaTypeOf = (req: Request): string => (req.get('Content-Type') ?? '').split(';', 1)[0]?.trim() ?? '';

const textOf = (req: Request): string => (Buffer.isBuffer(req.body) ? req.body.toString('utf8') : '');

/** JSON is also YAML, but parsing it as JSON is much faster. */
function parseText(text: string, mayBeYaml: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (!mayBeYaml) throw badRequest(`couldn't get version/kind; json parse error: ${(cause as Error).message}`);
  }
  try {
    return parseYaml(text);
  } catch (cause) {
    if (!(cause instanceof YAMLParseError)) throw cause;
    throw badRequest(`error decoding YAML: ${cause.message}`);
  }
}

/** @throws StatusError 400, 415 */
export function readOptions(req: Request): Record<string, unknown> {
  const text = textOf(req);
  if (text.trim() === '') return {};
  const body = parseText(text, true);
  if (!isFields(body)) throw badRequest('the body of the request is no object');
  return body;
}

/**
 * Reads an object of a kind from a request. Drops unknown fields.
 *
 * @throws StatusError 400, 415
 */
export function readObject(req: Request, kind: Pick<Kind, 'group' | 'version' | 'kind' | 'schema'>): KubeObject {
  const type = mediaTypeOf(req);
  if (![JSON_TYPE, YAML_TYPE, ''].includes(type)) throw unsupportedMediaType([JSON_TYPE, YAML_TYPE]);
  const body = parseText(textOf(req), type === YAML_TYPE);
  if (!isFields(body)) throw badRequest("couldn't get version/kind; the body of the request is no object");
  const { apiVersion = apiVersionOf(kind), kind: bodyKind = kind.kind } = body;
  if (bodyKind !== kind.kind) {
    throw badRequest(`${bodyKind} in version "${kind.version}" cannot be handled as a ${kind.kind}`);
  }
  if (apiVersion !== apiVersionOf(kind)) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(kind)})`,
    );
  }
  const { mistyped } = checkFields(kind.schema, body);
  if (mistyped !== null) {
    throw badRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${mistyped}`);
  }
  const known = withoutUnknown(kind.schema, body) as KubeObject;
  const metadata = isFields(known.metadata) ? known.metadata : {};
  return { ...known, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata } as KubeObject;
}

/** @throws StatusError 400, 415 */
export function readPatch(req: Request, force: boolean): Patch {
  const type = patchTypes[mediaTypeOf(req) as keyof typeof patchTypes];
  if (type === undefined) throw unsupportedMediaType(Object.keys(patchTypes));
  const body = parseText(textOf(req), type === 'apply');
  return type === 'apply' ? { type, body, force } : { type, body };
}
