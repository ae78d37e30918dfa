import type { JsonObject } from '@corral/contracts';
import type { Call } from './call.js';
import { unusableError } from './call-errors.js';
import { objectIn, textIn } from './json.js';
import { query } from './paths.js';

/** Calls of the Kubernetes API as data (kubernetes.io/docs/reference/using-api/api-concepts). */

export function getCall(resource: string, path: string): Call {
  return { verb: 'get', resource, access: 'read', method: 'GET', path };
}

export function listCall(resource: string, path: string): Call {
  return { ...getCall(resource, path), verb: 'list' };
}

/**
 * Reads a page of a list. `next` continues it; null on the last page.
 *
 * @throws GardenError `unusable` when the answer is no list
 */
export function readList(
  call: Call,
  body: JsonObject,
): { items: unknown[]; resourceVersion: string | null; next: string | null } {
  // Go may encode an empty list as null.
  const items: unknown = body.items === null ? [] : body.items;
  if (!Array.isArray(items)) throw unusableError(call, 'the answer is no list');
  const metadata = objectIn(body, 'metadata');
  return { items, resourceVersion: textIn(metadata, 'resourceVersion'), next: textIn(metadata, 'continue') };
}

/**
 * Server-side apply: sets the fields in the manifest, removes fields that an earlier apply set and this one omits, and
 * touches no others.
 *
 * @param options force: takes fields over from other managers. Without it, fields of others are a `conflict`
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
    // Every JSON text is valid YAML.
    body: json('application/apply-patch+yaml', manifest),
  };
}

/** A JSON merge patch. It replaces lists as a whole. */
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

/** @param uid precondition: deletes only the object with this uid */
export function deleteCall(resource: string, path: string, uid?: string): Call {
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', ...(uid !== undefined && { preconditions: { uid } }) };
  return { verb: 'delete', resource, access: 'write', method: 'DELETE', path, body: json('application/json', options) };
}

/** A call with Secrets: decoding and validation errors quote the request. */
export function confidential(call: Call): Call {
  return { ...call, confidential: true };
}

/** A call of a Shoot's own API server. */
export function ofShoot(call: Call): Call {
  return { ...call, resource: `shoot ${call.resource}`, fromShoot: true };
}

function json(type: string, value: JsonObject): { type: string; bytes: Buffer } {
  return { type, bytes: Buffer.from(JSON.stringify(value)) };
}
