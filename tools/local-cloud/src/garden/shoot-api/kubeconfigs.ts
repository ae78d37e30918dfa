import { issueClientCertificate } from '@corral/testing/certificates';
import type { Request, Response } from 'express';
import { type Clock, timestamp } from '../../clock.js';
import { sendJson } from '../../http/route-table.js';
import { renderKubeconfig } from '../credentials.js';
import { type Asked, readObject } from '../http/requests.js';
import { invalidObject, notFound } from '../kube/errors.js';
import { fieldAt } from '../kube/object.js';
import type { Shoot } from '../shoots/shoot.js';
import { type ObjectStore, objectOf } from '../store.js';
import { type ShootAuthorities, serverNameOf } from './authorities.js';

const SECONDS_MIN = 600;
const SECONDS_DEFAULT = 3600;
/** Longer requests are shortened to it. */
const SECONDS_MAX = 86_400;
/** Certificates are backdated, for clients whose clocks are behind. */
const BACKDATED_MS = 60_000;

/** `POST …/shoots/{name}/adminkubeconfig` and `viewerkubeconfig`. The result is not stored. @throws StatusError 400, 404, 422 */
export async function serveKubeconfigRequest(
  { store, authorities, clock }: { store: ObjectStore; authorities: ShootAuthorities; clock: Clock },
  { kind: shoots, namespace, name, subresource }: Asked,
  req: Request,
  res: Response,
): Promise<void> {
  const access = subresource === 'adminkubeconfig' ? 'admin' : 'viewer';
  const kind = access === 'admin' ? 'AdminKubeconfigRequest' : 'ViewerKubeconfigRequest';
  const resource = { group: 'authentication.gardener.cloud', version: 'v1alpha1', plural: subresource, kind };
  const asked = Number(fieldAt(readObject(req, resource), 'spec', 'expirationSeconds') ?? SECONDS_DEFAULT);
  const refuse = (field: string, message: string) => invalidObject(resource, name, field, message);
  if (!(asked >= SECONDS_MIN))
    throw refuse('spec.expirationSeconds', 'Invalid value: may not specify less than 10 minutes');
  const held = store.get('shoots', namespace, name);
  if (held === null) throw notFound(shoots, name);
  const authority = await authorities.get(held);
  const [address] = objectOf<Shoot>(held).status.advertisedAddresses ?? [];
  if (address === undefined) throw refuse('status.status', 'Invalid value: no suitable advertised address found');
  const seconds = Math.min(asked, SECONDS_MAX);
  const nowMs = clock.now();
  const validity = {
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(Math.floor(nowMs / 1000 + seconds) * 1000),
  };
  const user = `gardener.cloud:${access}:${res.locals.user.name}`;
  const client = await issueClientCertificate(authority, user, [`gardener.cloud:project:${access}s`], validity);
  const kubeconfig = renderKubeconfig(`${namespace}--${name}`, client, {
    name: `${namespace}--${name}-${address.name}`,
    server: address.url,
    authority: authority.certificate,
    tlsServerName: serverNameOf(held),
  });
  sendJson(res, 201, {
    kind,
    apiVersion: 'authentication.gardener.cloud/v1alpha1',
    metadata: {},
    spec: { expirationSeconds: seconds },
    status: {
      kubeconfig: Buffer.from(kubeconfig).toString('base64'),
      expirationTimestamp: timestamp(validity.notAfter.getTime()),
    },
  });
}
