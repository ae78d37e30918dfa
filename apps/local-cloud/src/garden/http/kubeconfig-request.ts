import type { Request, Response } from 'express';
import { integer, objectSchema, struct, text } from '../fields/schema.js';
import { invalid } from '../kube/field-error.js';
import { invalidObject } from '../kube/status-error.js';
import type { GardenApiDeps } from './build-garden-api.js';
import { readObject } from './read-body.js';
import type { RequestInfo } from './request-info.js';
import { sendJson } from './send-json.js';

const schema = objectSchema({
  spec: struct({ expirationSeconds: integer }),
  status: struct({ kubeconfig: text, expirationTimestamp: text }),
});

const EXPIRATION_SECONDS_MIN = 600;
const EXPIRATION_SECONDS_MAX = 2 ** 32 - 1;

/** `POST …/shoots/{name}/adminkubeconfig` and `viewerkubeconfig`. Nothing of it is kept. */
export async function serveKubeconfigRequest(
  deps: GardenApiDeps,
  request: RequestInfo,
  req: Request,
  res: Response,
  user: string,
): Promise<void> {
  const { namespace, name, subresource } = request;
  const access = subresource === 'adminkubeconfig' ? 'admin' : 'viewer';
  const kind = access === 'admin' ? 'AdminKubeconfigRequest' : 'ViewerKubeconfigRequest';
  const resource = { group: 'authentication.gardener.cloud', version: 'v1alpha1', plural: subresource, kind };
  const { object } = readObject(req, { ...resource, schema }, request.query.get('fieldValidation'));
  const { expirationSeconds } = (object.spec ?? {}) as { expirationSeconds?: number };
  checkExpiration(resource, expirationSeconds);
  const issued = await deps.issueKubeconfig({ namespace, name, access, user, expirationSeconds });
  sendJson(res, 201, {
    kind,
    apiVersion: 'authentication.gardener.cloud/v1alpha1',
    metadata: {},
    spec: { expirationSeconds: issued.expirationSeconds },
    status: {
      kubeconfig: Buffer.from(issued.kubeconfig).toString('base64'),
      expirationTimestamp: issued.expirationTimestamp,
    },
  });
}

function checkExpiration(resource: { group: string; plural: string; kind: string }, seconds: number | undefined): void {
  if (seconds === undefined) return;
  const field = 'spec.expirationSeconds';
  if (seconds < EXPIRATION_SECONDS_MIN) {
    throw invalidObject(resource, '', [invalid(field, seconds, 'may not specify a duration less than 10 minutes')]);
  }
  if (seconds > EXPIRATION_SECONDS_MAX) {
    throw invalidObject(resource, '', [invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds')]);
  }
}
