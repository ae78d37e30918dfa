import { applyPatch, type Operation } from 'rfc6902';
import type { FieldType } from '../fields/schema.js';
import { copyOf, isFields, type KubeObject } from '../kube/object.js';
import { badRequest, StatusError } from '../kube/status-error.js';
import type { Patch } from '../rest/write-options.js';
import { mergePatch } from './merge-patch.js';
import { strategicMergePatch } from './strategic-merge-patch.js';

/**
 * Applies a patch that is no server-side apply.
 *
 * @throws StatusError 400 for a patch that is none, 422 when a JSON patch does not fit the object or a `test` fails
 */
export function performPatch(schema: FieldType, target: KubeObject, patch: Exclude<Patch, { type: 'apply' }>): unknown {
  if (patch.type === 'json') return performJsonPatch(target, patch.operations);
  if (!isFields(patch.body)) throw badRequest('error decoding patch: the body is no object');
  return patch.type === 'merge' ? mergePatch(target, patch.body) : strategicMergePatch(schema, target, patch.body);
}

const operations = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test']);

function performJsonPatch(target: KubeObject, patch: readonly unknown[]): unknown {
  for (const operation of patch) {
    if (!isFields(operation) || !operations.has(String(operation.op)) || typeof operation.path !== 'string') {
      throw badRequest('error decoding patch: an operation needs a known `op` and a `path`');
    }
  }
  const patched = copyOf(target);
  const failed = applyPatch(patched, patch as Operation[]).find((error) => error !== null);
  if (failed === undefined) return patched;
  throw new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}
