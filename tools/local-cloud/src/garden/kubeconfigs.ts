import { issueClientCertificate } from '@corral/testing/certificates';
import type { Request } from 'express';
import { stringify } from 'yaml';
import { timestamp } from '../clock.js';
import { param } from '../http/serve-routes.js';
import { serverNameOf } from './authorities.js';
import { invalidObject, notFound } from './errors.js';
import { shoots } from './kinds.js';
import { fieldAt } from './object.js';
import type { GardenParts } from './parts.js';
import { readBody } from './requests.js';
import type { Shoot } from './shoots/shoot.js';
import { objectOf } from './store.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Renders a kubeconfig for one user of one cluster. @param cluster, user as a kubeconfig has them */
export function renderKubeconfig(name: string, cluster: object, user: object): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user }],
  });
}

const SECONDS_DEFAULT = 3600;
/** Longer requests are shortened to it. */
const SECONDS_MAX = 86_400;
/** Certificates are backdated, for clients whose clocks are behind. */
const BACKDATED_MS = 60_000;

const access = {
  adminkubeconfig: { role: 'admin', kind: 'AdminKubeconfigRequest' },
  viewerkubeconfig: { role: 'viewer', kind: 'ViewerKubeconfigRequest' },
} as const;

/** Answers `POST …/shoots/{name}/adminkubeconfig` and `viewerkubeconfig`. Nothing is stored. @throws StatusError 400, 404, 422 */
export function issueKubeconfig(
  { store, authorities, clock }: GardenParts,
  subresource: keyof typeof access,
  req: Request,
  userName: string,
) {
  const [namespace, name] = [param(req, 'namespace'), param(req, 'name')];
  const { role, kind } = access[subresource];
  const seconds = Math.min(Number(fieldAt(readBody(req), 'spec', 'expirationSeconds') ?? SECONDS_DEFAULT), SECONDS_MAX);
  const held = store.get('shoots', namespace, name);
  if (held === null) throw notFound(shoots, name);
  const authority = authorities.get(held);
  const [address] = objectOf<Shoot>(held).status.advertisedAddresses ?? [];
  if (address === undefined)
    throw invalidObject(shoots, name, 'status.status', 'Invalid value: no suitable advertised address found');
  const nowMs = clock.now();
  const notAfter = new Date(Math.floor(nowMs / 1000 + seconds) * 1000);
  const validity = { notBefore: new Date(nowMs - BACKDATED_MS), notAfter };
  const user = `gardener.cloud:${role}:${userName}`;
  const client = issueClientCertificate(authority, user, [`gardener.cloud:project:${role}s`], validity);
  const kubeconfig = renderKubeconfig(
    `${namespace}--${name}-${address.name}`,
    {
      server: address.url,
      'certificate-authority-data': base64(authority.certificate),
      'tls-server-name': serverNameOf(held),
    },
    { 'client-certificate-data': base64(client.certificate), 'client-key-data': base64(client.key) },
  );
  return {
    kind,
    apiVersion: 'authentication.gardener.cloud/v1alpha1',
    metadata: {},
    spec: { expirationSeconds: seconds },
    status: { kubeconfig: base64(kubeconfig), expirationTimestamp: timestamp(notAfter.getTime()) },
  };
}
