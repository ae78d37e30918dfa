import { badRequest, StatusError } from './errors.js';
import { equalJson, type Fields, isFields } from './object.js';

/** RFC 7396: null removes, objects merge, everything else replaces, including lists. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged = isFields(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

/**
 * RFC 6902, as far as `kubectl patch --type json` is used: `add`, `remove`, `replace` and `test`.
 *
 * @throws StatusError 400 for another operation, 422 for a path that is not there
 */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('error decoding patch: a JSON patch is a list');
  const document = structuredClone(target);
  for (const operation of operations) performOperation(document, operation as Fields);
  return document;
}

function performOperation(document: unknown, { op, path, value }: Fields): void {
  const steps = String(path)
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = steps.pop() ?? '';
  // biome-ignore lint/suspicious/noExplicitAny: a document of any shape is walked
  const parent = steps.reduce<any>(
    (at, step) => (typeof at === 'object' && at !== null ? at[step] : undefined),
    document,
  );
  const isThere = typeof parent === 'object' && parent !== null && Object.hasOwn(parent, last);
  const isAddable = op === 'add' && (isFields(parent) || (Array.isArray(parent) && isPlace(last, parent.length)));
  if (!isThere && !isAddable) throw unprocessable(`the path ${path} does not exist`);
  if (op === 'test') {
    if (!equalJson(parent[last], value)) throw unprocessable(`testing path ${path} failed`);
  } else if (op === 'remove' && Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (op === 'remove') delete parent[last];
  else if (op === 'add' && Array.isArray(parent)) parent.splice(last === '-' ? parent.length : Number(last), 0, value);
  else if (op === 'add' || op === 'replace') parent[last] = value;
  else throw badRequest(`the operation ${op} of a JSON patch is not known here`);
}

const isPlace = (step: string, length: number): boolean =>
  step === '-' || (/^\d+$/.test(step) && Number(step) <= length);

const unprocessable = (why: string): StatusError =>
  new StatusError(422, `the server rejected our request due to an error in our request: ${why}`);
