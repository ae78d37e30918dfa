import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '../../clock.js';
import type { CallCounts } from '../../faults/call-counts.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import type { Clusters } from '../cluster/clusters.js';
import { sendJson } from '../http/answers.js';
import { labelTest } from '../http/list.js';
import { readOptions } from '../http/read-body.js';
import { isFields, type KubeObject } from '../kube/object.js';
import { badRequest, type ResourceName, refusedByRbac } from '../kube/status-error.js';
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

export function sendObjects(
  res: Response,
  { kind }: ResourceName,
  items: readonly KubeObject[],
  revision: number,
): void {
  const metadata = { resourceVersion: String(revision) };
  sendJson(res, 200, { kind: `${kind}List`, apiVersion: 'v1', metadata, items });
}

/**
 * The objects that match the selectors of a request.
 *
 * @param fields what a field selector can name, in the form `field=value`
 * @throws StatusError 400
 */
export function selected<T extends KubeObject>(
  { query }: Request,
  objects: readonly T[],
  fields: Readonly<Record<string, (object: T) => unknown>> = {},
): T[] {
  const hasLabels = labelTest(String(query.labelSelector ?? ''));
  const [field = '', value] = String(query.fieldSelector ?? '').split('=');
  const read = fields[field];
  if (field !== '' && read === undefined) throw badRequest(`field label not supported: ${field}`);
  return objects.filter(
    (object) => hasLabels(object.metadata.labels ?? {}) && (read === undefined || read(object) === value),
  );
}

/** The caller, according to the client certificate. */
export interface ShootUser {
  readonly name: string;
  readonly isViewer: boolean;
}

export const shootOf = (res: Response): Held => res.locals.shoot as Held;

export const param = (req: Request, name: string): string => String(req.params[name] ?? '');

/** For writes and Secrets, which viewers cannot read. Dry runs are not supported: refused instead of performed. */
export function adminsOnly(resource: ResourceName, verb: string, subresource = ''): RequestHandler {
  return (req, res, next) => {
    const { name: user, isViewer } = res.locals.user as ShootUser;
    if (req.query.dryRun !== undefined) throw badRequest('dryRun is not known to the API servers of local Shoots');
    if (!isViewer) return next();
    throw refusedByRbac(resource, {
      user,
      verb,
      subresource,
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
