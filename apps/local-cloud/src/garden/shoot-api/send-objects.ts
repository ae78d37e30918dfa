import type { Request, Response } from 'express';
import type { Clock } from '../../clock.js';
import { sendJson } from '../http/send-json.js';
import { tableOf, wantsTable } from '../http/tables.js';
import type { Column } from '../kinds/kind.js';
import type { KubeObject } from '../kube/object.js';
import { parseFieldSelector, parseLabelSelector } from '../kube/selectors.js';
import type { ResourceName } from '../kube/status-error.js';

interface Rendering {
  readonly clock: Clock;
  readonly columns: readonly Column[];
}

/** Answers with a list, or with the table that the caller would rather print. */
export function sendObjects(
  res: Response,
  { kind }: ResourceName,
  items: readonly KubeObject[],
  { clock, columns, revision }: Rendering & { readonly revision: number },
): void {
  const metadata = { resourceVersion: String(revision) };
  if (wantsTable(res.req.get('Accept') ?? '')) sendTable(res, items, metadata, { clock, columns });
  else sendJson(res, 200, { kind: `${kind}List`, apiVersion: 'v1', metadata, items });
}

export function sendObject(res: Response, object: KubeObject, rendering: Rendering): void {
  if (wantsTable(res.req.get('Accept') ?? '')) sendTable(res, [object], {}, rendering);
  else sendJson(res, 200, object);
}

function sendTable(res: Response, items: readonly KubeObject[], metadata: object, { clock, columns }: Rendering): void {
  const includeObject = typeof res.req.query.includeObject === 'string' ? res.req.query.includeObject : null;
  sendJson(res, 200, tableOf(columns, items, { metadata, includeObject, nowMs: clock.now() }));
}

/**
 * Those that the selectors of a request are about.
 *
 * @param fields values that field selectors may ask for, beside name and namespace
 * @throws StatusError 400
 */
export function selected<T extends KubeObject>(
  { query }: Request,
  objects: readonly T[],
  fields: Readonly<Record<string, (object: T) => string>> = {},
): T[] {
  const readers: typeof fields = {
    ...fields,
    'metadata.name': ({ metadata }) => metadata.name ?? '',
    'metadata.namespace': ({ metadata }) => metadata.namespace ?? '',
  };
  const hasLabels = parseLabelSelector(String(query.labelSelector ?? ''));
  const hasFields = parseFieldSelector(String(query.fieldSelector ?? ''), new Set(Object.keys(readers)));
  const fieldsOf = (object: T) =>
    Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, read(object)]));
  return objects.filter((object) => hasLabels(object.metadata.labels ?? {}) && hasFields(fieldsOf(object)));
}
