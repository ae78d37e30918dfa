import { type Request, type Response, Router } from 'express';
import { podResource } from '../cluster/clusters.js';
import type { HeldPod } from '../cluster/contents.js';
import { sendJson } from '../http/answers.js';
import { readOptions } from '../http/read-body.js';
import { fieldAt, type KubeObject } from '../kube/object.js';
import { badRequest, conflict, notFound } from '../kube/status-error.js';
import { adminsOnly, param, type ShootApiDeps, selected, sendObjects, shootOf } from './requests.js';

/** Mounted at `/api/v1`. */
export function podRoutes({ clusters }: ShootApiDeps): Router {
  const router = Router();
  const inNamespace = '/namespaces/:namespace/pods';
  const podsOf = (req: Request, res: Response): KubeObject[] => {
    const namespace = param(req, 'namespace');
    return clusters.pods(shootOf(res)).filter(({ metadata }) => namespace === '' || metadata.namespace === namespace);
  };
  router.get(['/pods', inNamespace], (req, res) => {
    const found = selected(req, podsOf(req, res), { 'spec.nodeName': (pod) => fieldAt(pod, 'spec', 'nodeName') });
    sendObjects(res, podResource, found, clusters.read(shootOf(res)).revision);
  });
  router.get(`${inNamespace}/:name`, (req, res) => {
    const pod = podsOf(req, res).find(({ metadata }) => metadata.name === param(req, 'name'));
    if (pod === undefined) throw notFound(podResource, param(req, 'name'));
    sendJson(res, 200, pod);
  });
  router.post(`${inNamespace}/:name/eviction`, adminsOnly(podResource, 'create', 'eviction'), (req, res) => {
    const pod = clusters.pod(shootOf(res), param(req, 'namespace'), param(req, 'name'));
    checkEviction(readOptions(req), pod);
    clusters.evictPod(shootOf(res), pod);
    sendJson(res, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
  });
  return router;
}

/** @throws StatusError 400, 409 */
function checkEviction(body: Record<string, unknown>, pod: HeldPod): void {
  if (body.apiVersion !== 'policy/v1' || body.kind !== 'Eviction') {
    throw badRequest(`${body.kind} of ${body.apiVersion} cannot be handled as an Eviction of policy/v1`);
  }
  if (fieldAt(body, 'metadata', 'name') !== pod.name) {
    throw badRequest('name in URL does not match name in Eviction object');
  }
  const uid = fieldAt(body, 'deleteOptions', 'preconditions', 'uid');
  if (uid !== undefined && uid !== pod.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.uid}`;
    throw conflict(podResource, pod.name, why);
  }
}
