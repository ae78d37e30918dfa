import { randomUUID } from 'node:crypto';
import { type Request, Router } from 'express';
import { SYSTEM, TOKEN_TYPE } from '../cluster/secrets.js';
import { deletedStatus, sendJson } from '../http/answers.js';
import { readObject } from '../http/read-body.js';
import { type Secret, secrets as secretKind } from '../kinds/core-kinds.js';
import { badRequest, forbidden, notFound } from '../kube/status-error.js';
import type { ShootApiDeps } from './requests.js';
import { adminsOnly, checkDeleteOptions, param, selected, sendObjects, shootOf } from './requests.js';

/** Mounted at `/api/v1`. */
export function secretRoutes({ clusters }: ShootApiDeps): Router {
  const router = Router();
  const inNamespace = '/namespaces/:namespace/secrets';
  router.get(['/secrets', inNamespace], adminsOnly(secretKind, 'list'), (req, res) => {
    const namespace = param(req, 'namespace');
    const all = namespace === '' || namespace === SYSTEM ? clusters.secrets(shootOf(res)) : [];
    const found = selected(req, all, { type: ({ type }) => type });
    sendObjects(res, secretKind, found, clusters.read(shootOf(res)).revision);
  });
  router.get(`${inNamespace}/:name`, adminsOnly(secretKind, 'get'), (req, res) => {
    requireSystem(req);
    sendJson(res, 200, clusters.secret(shootOf(res), param(req, 'name')));
  });
  router.post(inNamespace, adminsOnly(secretKind, 'create'), (req, res) => {
    const made = clusters.createToken(shootOf(res), readToken(req), randomUUID());
    sendJson(res, 201, made);
  });
  router.delete(`${inNamespace}/:name`, adminsOnly(secretKind, 'delete'), (req, res) => {
    requireSystem(req);
    const secret = clusters.secret(shootOf(res), param(req, 'name'));
    checkDeleteOptions(req, secretKind, secret);
    const name = secret.metadata.name ?? '';
    if (!clusters.deleteToken(shootOf(res), name)) {
      throw forbidden(secretKind, name, 'the garden looks after it, and would make it again');
    }
    sendJson(res, 200, deletedStatus(secretKind, secret));
  });
  return router;
}

function requireSystem(req: Request): void {
  if (param(req, 'namespace') !== SYSTEM) throw notFound(secretKind, param(req, 'name'));
}

/** @throws StatusError 400, 403 for a Secret that is not a bootstrap token, 415 */
function readToken(req: Request): Secret {
  const namespace = param(req, 'namespace');
  const secret = readObject(req, secretKind) as Secret;
  secretKind.setDefaults?.(secret);
  const { name = '' } = secret.metadata;
  if ((secret.metadata.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (namespace !== SYSTEM || secret.type !== TOKEN_TYPE) {
    throw forbidden(secretKind, name, `only Secrets of type ${TOKEN_TYPE} in ${SYSTEM} can be made here`);
  }
  return { ...secret, metadata: { ...secret.metadata, namespace } };
}
