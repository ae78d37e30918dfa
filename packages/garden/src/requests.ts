import type { Call } from './call.js';
import type { JsonObject } from './json.js';
import { query } from './paths.js';

/** The calls of the Kubernetes API as data (kubernetes.io/docs/reference/using-api/api-concepts). */

export function getCall(resource: string, path: string): Call {
  return { verb: 'get', resource, access: 'read', method: 'GET', path };
}

export function listCall(resource: string, path: string): Call {
  return { ...getCall(resource, path), verb: 'list' };
}

/**
 * Server-side apply: sets the fields in the manifest, removes those that it owned before and leaves out now, and
 * touches no others.
 *
 * @param options force: takes fields over from others. Else who owns one by other means keeps it, and we are told
 *   (`conflict`)
 */
export function applyCall(
  resource: string,
  path: string,
  fieldManager: string,
  manifest: JsonObject,
  { force = false }: { force?: boolean } = {},
): Call {
  return {
    verb: 'apply',
    resource,
    access: 'write',
    method: 'PATCH',
    path: `${path}${query({ fieldManager, force: String(force) })}`,
    // JSON is YAML.
    body: json('application/apply-patch+yaml', manifest),
  };
}

/** A JSON merge patch: for maps only, since it replaces lists as a whole. */
export function mergePatchCall(resource: string, path: string, fieldManager: string, patch: JsonObject): Call {
  return {
    verb: 'patch',
    resource,
    access: 'write',
    method: 'PATCH',
    path: `${path}${query({ fieldManager })}`,
    body: json('application/merge-patch+json', patch),
  };
}

export function createCall(resource: string, path: string, object: JsonObject): Call {
  return { verb: 'create', resource, access: 'write', method: 'POST', path, body: json('application/json', object) };
}

/** @param uid deletes nothing but the object that was meant */
export function deleteCall(resource: string, path: string, uid?: string): Call {
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', ...(uid !== undefined && { preconditions: { uid } }) };
  return { verb: 'delete', resource, access: 'write', method: 'DELETE', path, body: json('application/json', options) };
}

/** For calls with Secrets: errors of decoding and validation quote what was sent. */
export function confidential(call: Call): Call {
  return { ...call, confidential: true };
}

/** For calls of a Shoot's own API server. */
export function ofShoot(call: Call): Call {
  return { ...call, resource: `shoot ${call.resource}`, fromShoot: true };
}

function json(type: string, value: JsonObject): { type: string; bytes: Buffer } {
  return { type, bytes: Buffer.from(JSON.stringify(value)) };
}
