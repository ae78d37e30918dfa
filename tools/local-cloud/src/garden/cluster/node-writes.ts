import { isLabelKey, isLabelValue } from '../../labels.js';
import { invalid } from '../kube/field-error.js';
import { equalJson, isFields, type KubeObject, mergePatch } from '../kube/object.js';
import { badRequest, conflict, forbidden, invalidObject, modifiedMeanwhile } from '../kube/status-error.js';
import { type ClusterContents, type NodeMarks, without } from './contents.js';
import type { Node } from './nodes.js';

export const nodeResource = { group: '', plural: 'nodes', kind: 'Node' };

/**
 * Applies a merge patch to a node. Only labels, annotations and `spec.unschedulable` can change.
 *
 * @param own the node without changes by clients
 * @throws StatusError 400, 409, 422
 */
export function patchedNode(contents: ClusterContents, own: Node, shown: Node, patch: unknown): ClusterContents {
  const next = mergePatch(shown, patch);
  if (!isFields(patch) || !isFields(next)) throw badRequest('error decoding patch: the body is no object');
  const { name } = shown.metadata;
  const { metadata, spec } = next as KubeObject;
  checkIdentity(shown, metadata);
  const wanted = isFields(spec) ? spec : {};
  const { unschedulable: _was, ...fixed } = shown.spec;
  const { unschedulable = false, ...rest } = wanted;
  if (!equalJson(fixed, rest) || !equalJson(next.status, shown.status)) {
    throw invalidNode(name, 'spec', 'node updates may only change labels, annotations and unschedulable here');
  }
  if (typeof unschedulable !== 'boolean') throw badRequest('spec.unschedulable must be true or false');
  const labels = textsIn(metadata.labels, name, 'metadata.labels');
  const wrong = Object.entries(labels).find(([key, value]) => !isLabelKey(key) || !isLabelValue(value));
  if (wrong !== undefined) throw invalidNode(name, 'metadata.labels', `${wrong.join(': ')} is no valid label`);
  const annotations = textsIn(metadata.annotations, name, 'metadata.annotations');
  const revision = contents.revision + 1;
  const marks: NodeMarks = {
    labels: differenceOf(own.metadata.labels, labels),
    annotations: differenceOf(own.metadata.annotations ?? {}, annotations),
    unschedulable,
    revision,
  };
  return { ...contents, revision, marks: { ...contents.marks, [name]: marks } };
}

/**
 * Removes a joined node and its pods.
 *
 * @throws StatusError 403 for a node of one of the Shoot's machines, which the garden would recreate
 */
export function deletedNode(contents: ClusterContents, name: string): ClusterContents {
  const joined = contents.joined.filter((node) => node.name !== name);
  if (joined.length === contents.joined.length)
    throw forbidden(nodeResource, name, 'a machine of the Shoot is behind it');
  return {
    ...contents,
    revision: contents.revision + 1,
    joined,
    marks: without(contents.marks, name),
    silent: without(contents.silent, name),
    pods: contents.pods.filter((pod) => pod.node !== name),
  };
}

function checkIdentity({ metadata: shown }: Node, wanted: KubeObject['metadata']): void {
  if (wanted.name !== shown.name) throw badRequest('the name of the object does not match the name on the URL');
  if (wanted.uid !== shown.uid) {
    const why = `Precondition failed: UID in precondition: ${wanted.uid}, UID in object meta: ${shown.uid}`;
    throw conflict(nodeResource, shown.name, why);
  }
  if (wanted.resourceVersion !== shown.resourceVersion) throw modifiedMeanwhile(nodeResource, shown.name);
}

function textsIn(value: unknown, name: string, field: string): Record<string, string> {
  const entries = Object.entries(isFields(value) ? value : {});
  if (entries.some(([, item]) => typeof item !== 'string')) throw invalidNode(name, field, 'must be a map of texts');
  return Object.fromEntries(entries) as Record<string, string>;
}

/** The changes that turn the first map into the second. */
function differenceOf(
  own: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): NodeMarks['labels'] {
  const keys = [...new Set([...Object.keys(own), ...Object.keys(wanted)])];
  return Object.fromEntries(
    keys.filter((key) => own[key] !== wanted[key]).map((key) => [key, wanted[key] ?? null] as const),
  );
}

const invalidNode = (name: string, field: string, detail: string) =>
  invalidObject(nodeResource, name, [{ ...invalid(field, null, detail), message: `Forbidden: ${detail}` }]);
