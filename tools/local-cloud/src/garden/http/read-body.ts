import type { Request } from 'express';
import { checkFields, withoutUnknown } from '../fields/check-fields.js';
import { apiVersionOf, type Kind } from '../kinds/kind.js';
import { isFields, type KubeObject } from '../kube/object.js';
import { badRequest, unsupportedMediaType } from '../kube/status-error.js';
import type { Patch } from '../objects/preconditions.js';

const JSON_TYPE = 'application/json';

/** Only patches in JSON, which is also YAML. */
const patchTypes = {
  'application/merge-patch+json': 'merge',
  'application/apply-patch+yaml': 'apply',
} as const;

const mediaTypeOf = (req: Request): string => (req.get('Content-Type') ?? '').split(';', 1)[0]?.trim() ?? '';

const textOf = (req: Request): string => (Buffer.isBuffer(req.body) ? req.body.toString('utf8') : '');

function parseJson(req: Request): unknown {
  try {
    return JSON.parse(textOf(req));
  } catch (cause) {
    throw badRequest(`couldn't get version/kind; json parse error: ${(cause as Error).message}`);
  }
}

/** @throws StatusError 400 */
export function readOptions(req: Request): Record<string, unknown> {
  if (textOf(req).trim() === '') return {};
  const body = parseJson(req);
  if (!isFields(body)) throw badRequest('the body of the request is no object');
  return body;
}

/**
 * Reads an object of a kind from a request. Drops unknown fields.
 *
 * @throws StatusError 400, 415
 */
export function readObject(req: Request, kind: Pick<Kind, 'group' | 'version' | 'kind' | 'schema'>): KubeObject {
  if (![JSON_TYPE, ''].includes(mediaTypeOf(req))) throw unsupportedMediaType([JSON_TYPE]);
  const body = parseJson(req);
  if (!isFields(body)) throw badRequest("couldn't get version/kind; the body of the request is no object");
  const { apiVersion = apiVersionOf(kind), kind: bodyKind = kind.kind } = body;
  if (bodyKind !== kind.kind || apiVersion !== apiVersionOf(kind)) {
    throw badRequest(`${bodyKind} in version "${apiVersion}" cannot be handled as a ${kind.kind}`);
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
  const body = parseJson(req);
  return type === 'apply' ? { type, body, force } : { type, body };
}
