import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '../../clock.js';
import type { CallCounts } from '../../faults/call-counts.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import type { Clusters } from '../cluster/clusters.js';
import { sendJson } from '../http/answers.js';
import { readOptions } from '../http/read-body.js';
import { tableOf, wantsTable } from '../http/tables.js';
import type { Column } from '../kinds/kind.js';
import { isFields, type KubeObject } from '../kube/object.js';
import { parseFieldSelector, parseLabelSelector } from '../kube/selectors.js';
import { type ResourceName, refusedByRbac } from '../kube/status-error.js';
import type { Held } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import { checkPreconditions, type Preconditions } from '../objects/preconditions.js';
import type { ShootAuthorities } from './shoot-authorities.js';

export interface ShootApiDeps {
  readonly store: ObjectStore;
  readonly authorities: ShootAuthorities;
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
}

interface Rendering {
  readonly clock: Clock;
  readonly columns: readonly Column[];
}

/** Answers with a list, or with a table if the client requests one. */
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
 * The objects that match the selectors of a request.
 *
 * @param fields values for field selectors besides name and namespace
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
  const hasFields = parseFieldSelector(String(query.fieldSelector ?? ''), Object.keys(readers));
  const fieldsOf = (object: T) =>
    Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, read(object)]));
  return objects.filter((object) => hasLabels(object.metadata.labels ?? {}) && hasFields(fieldsOf(object)));
}

/** The caller, according to the client certificate. */
export interface ShootUser {
  readonly name: string;
  readonly isViewer: boolean;
}

export const shootOf = (res: Response): Held => res.locals.shoot as Held;

export const param = (req: Request, name: string): string => String(req.params[name] ?? '');

/** Viewers can read everything except Secrets. */
export function adminsOnly(resource: ResourceName, verb: string, subresource = ''): RequestHandler {
  return (req, res, next) => {
    const { name: user, isViewer } = res.locals.user as ShootUser;
    if (!isViewer) return next();
    throw refusedByRbac(resource, {
      ...{ user, verb, subresource },
      name: param(req, 'name'),
      namespace: param(req, 'namespace'),
    });
  };
}

/** @throws StatusError 400, 409 */
export function checkDeleteOptions(req: Request, resource: ResourceName, object: KubeObject): void {
  const { preconditions } = readOptions(req);
  checkPreconditions(resource, object, isFields(preconditions) ? (preconditions as Preconditions) : {});
}
