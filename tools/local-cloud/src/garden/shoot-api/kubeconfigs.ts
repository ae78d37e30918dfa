import { issueClientCertificate } from '@corral/testing/certificates';
import type { Request, Response } from 'express';
import { timestamp } from '../../clock.js';
import { type KubeconfigCluster, renderKubeconfig } from '../credentials.js';
import { integer, objectSchema, struct, text } from '../fields/schema.js';
import { sendJson } from '../http/answers.js';
import { readObject } from '../http/read-body.js';
import type { RequestInfo } from '../http/routes.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { shoots } from '../kinds/shoot/shoots.js';
import { invalid } from '../kube/field-error.js';
import { invalidObject, notFound, type ResourceName } from '../kube/status-error.js';
import { objectOf } from '../objects/held.js';
import type { ShootApiDeps } from './requests.js';
import { serverNameOf } from './shoot-authorities.js';

const schema = objectSchema({
  spec: struct({ expirationSeconds: integer }),
  status: struct({ kubeconfig: text, expirationTimestamp: text }),
});

const SECONDS_MIN = 600;
const SECONDS_DEFAULT = 3600;
/** Longer requests are shortened to it. */
const SECONDS_MAX = 86_400;
/** Certificates are backdated by this many milliseconds, for clients whose clocks are behind. */
const BACKDATED_MS = 60_000;

/** `POST …/shoots/{name}/adminkubeconfig` and `viewerkubeconfig`. The result is not stored. */
export async function serveKubeconfigRequest(
  deps: Pick<ShootApiDeps, 'store' | 'authorities' | 'clock'>,
  request: RequestInfo,
  req: Request,
  res: Response,
  user: string,
): Promise<void> {
  const { namespace, name, subresource } = request;
  const access = subresource === 'adminkubeconfig' ? 'admin' : 'viewer';
  const kind = access === 'admin' ? 'AdminKubeconfigRequest' : 'ViewerKubeconfigRequest';
  const resource = { group: 'authentication.gardener.cloud', version: 'v1alpha1', plural: subresource, kind };
  const object = readObject(req, { ...resource, schema });
  const { expirationSeconds = SECONDS_DEFAULT } = (object.spec ?? {}) as { expirationSeconds?: number };
  checkExpiration(resource, expirationSeconds);
  const held = deps.store.get('shoots', namespace, name);
  if (held === null) throw notFound(shoots, name);
  const authority = await deps.authorities.get(held);
  const addresses = objectOf<Shoot>(held).status.advertisedAddresses ?? [];
  const clusters = addresses.map(
    (address): KubeconfigCluster => ({
      name: `${namespace}--${name}-${address.name}`,
      server: address.url,
      authority: authority.certificate,
      tlsServerName: serverNameOf(held),
    }),
  );
  const [first, ...rest] = clusters;
  if (first === undefined) {
    const message = 'no suitable advertised address for kube-apiserver found in .status.advertisedAddresses';
    throw invalidObject(resource, name, [invalid('status.status', null, message)]);
  }
  const seconds = Math.min(expirationSeconds, SECONDS_MAX);
  const nowMs = deps.clock.now();
  const notAfter = new Date(Math.floor(nowMs / 1000 + seconds) * 1000);
  const group = access === 'admin' ? 'gardener.cloud:project:admins' : 'gardener.cloud:project:viewers';
  const validity = { notBefore: new Date(nowMs - BACKDATED_MS), notAfter };
  const client = await issueClientCertificate(authority, `gardener.cloud:${access}:${user}`, [group], validity);
  const kubeconfig = renderKubeconfig(`${namespace}--${name}`, client, [first, ...rest]);
  sendJson(res, 201, {
    kind,
    apiVersion: 'authentication.gardener.cloud/v1alpha1',
    metadata: {},
    spec: { expirationSeconds: seconds },
    status: {
      kubeconfig: Buffer.from(kubeconfig).toString('base64'),
      expirationTimestamp: timestamp(notAfter.getTime()),
    },
  });
}

function checkExpiration(resource: ResourceName, seconds: number): void {
  const refuse = (why: string) => invalidObject(resource, '', [invalid('spec.expirationSeconds', seconds, why)]);
  if (seconds < SECONDS_MIN) throw refuse('may not specify a duration less than 10 minutes');
}
