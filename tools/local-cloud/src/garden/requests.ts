import type { ErrorRequestHandler, Request } from 'express';
import { sendJson } from '../http/serve-routes.js';
import { type LabelTest, parseLabelSelector } from '../labels.js';
import { badRequest, internalError, type ResourceName, StatusError, unsupportedMediaType } from './errors.js';
import { type Fields, isFields, type KubeObject } from './object.js';
import type { Held } from './store.js';
import type { Patch } from './writes.js';

export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** The text of a parameter of the query; empty if it is not given. */
export const asked = ({ query }: Request, name: string): string => String(query[name] ?? '');

/** @throws StatusError 400 */
export function readBody(req: Request): Fields {
  const body = parseJson(req);
  if (!isFields(body)) throw badRequest('the body of the request is no object');
  return body;
}

function parseJson(req: Request): unknown {
  const text = Buffer.isBuffer(req.body) ? req.body.toString('utf8') : '';
  try {
    return JSON.parse(text || '{}');
  } catch (cause) {
    throw badRequest(`couldn't get version/kind; json parse error: ${(cause as Error).message}`);
  }
}

const patchTypes = {
  'application/merge-patch+json': 'merge',
  'application/json-patch+json': 'json',
  'application/apply-patch+yaml': 'apply',
} as const;

/** Reads a patch in JSON, which is also YAML. @throws StatusError 400, 415 */
export function readPatch(req: Request): Patch {
  const [mediaType = ''] = (req.get('Content-Type') ?? '').split(';');
  const type = patchTypes[mediaType as keyof typeof patchTypes];
  if (type === undefined) throw unsupportedMediaType();
  const body = parseJson(req);
  if (type === 'apply') return { type, body, force: asked(req, 'force') === 'true' };
  return { type, body, isStrict: asked(req, 'fieldValidation') === 'Strict' };
}

/** The predicate of the parameter `labelSelector`. @throws StatusError 400 */
export const labelTest = (req: Request): LabelTest =>
  parseLabelSelector(asked(req, 'labelSelector'), (part) =>
    badRequest(`unable to parse requirement: ${JSON.stringify(part)}`),
  );

export type Selection = (held: Held) => boolean;

/** What the namespace and the selectors of a list or watch select: labels, and `metadata.name` for kubectl. @throws StatusError 400 */
export function selectionOf(req: Request): Selection {
  const { namespace } = req.params;
  const hasLabels = labelTest(req);
  const fields = asked(req, 'fieldSelector');
  const [, name] = /^metadata\.name=(.+)$/.exec(fields) ?? [];
  if (fields !== '' && name === undefined) throw badRequest(`field label not supported: ${fields}`);
  return (held) =>
    (namespace === undefined || held.namespace === namespace) &&
    (name === undefined || held.name === name) &&
    hasLabels(held.labels);
}

/** The answer to a deletion of an object without finalizers. */
export const deletedStatus = ({ group, plural }: ResourceName, { metadata: { name, uid } }: KubeObject) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { name, group, kind: plural, uid },
});

/** Answers errors with a Status, unexpected ones too. */
export const sendStatusError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = error instanceof StatusError ? error : internalError(String(error.message));
  sendJson(res, refusal.code, refusal.toStatus());
};
