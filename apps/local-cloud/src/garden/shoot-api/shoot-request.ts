import type { Request, RequestHandler, Response } from 'express';
import { readOptions } from '../http/read-body.js';
import { isFields, type KubeObject } from '../kube/object.js';
import { type ResourceName, refusedByRbac } from '../kube/status-error.js';
import { checkPreconditions } from '../rest/preconditions.js';
import type { DeleteOptions } from '../rest/write-options.js';
import type { Held } from '../store/held.js';

/** Who calls, as the client certificate says. */
export interface ShootUser {
  readonly name: string;
  readonly isViewer: boolean;
}

export const shootOf = (res: Response): Held => res.locals.shoot as Held;

export const param = (req: Request, name: string): string => String(req.params[name] ?? '');

/** Viewers read everything but Secrets. */
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
  checkPreconditions(
    resource,
    object,
    isFields(preconditions) ? (preconditions as DeleteOptions['preconditions']) : {},
  );
}

export const deleted = ({ group, plural }: ResourceName, { metadata: { name, uid } }: KubeObject) => ({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' },
  details: { name, ...(group === '' ? {} : { group }), kind: plural, uid },
});
