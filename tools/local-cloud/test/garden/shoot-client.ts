import { Agent, request } from 'node:https';
import { parse } from 'yaml';
import type { GardenAnswer } from './garden-client.js';
import { SHOOTS, type TestGarden } from './start-test-garden.js';

export interface ShootClient {
  /** Address of the API server. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<GardenAnswer>;
  close(): void;
}

const typeOf = (method: string): string => (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');

/** Calls the API server of a Shoot over plain HTTPS with a kubeconfig issued for it. */
export async function shootClient(
  garden: Pick<TestGarden, 'call'>,
  name: string,
  access: 'admin' | 'viewer' = 'admin',
): Promise<ShootClient> {
  const { body } = await garden.call('POST', `${SHOOTS}/${name}/${access}kubeconfig`, {});
  const { clusters, users } = parse(Buffer.from(body.status.kubeconfig, 'base64').toString('utf8'));
  const decoded = (text: string) => Buffer.from(text, 'base64').toString('utf8');
  const { server, 'certificate-authority-data': ca, 'tls-server-name': servername } = clusters[0].cluster;
  const { 'client-certificate-data': cert, 'client-key-data': key } = users[0].user;
  const agent = new Agent({ ca: decoded(ca), cert: decoded(cert), key: decoded(key), servername, keepAlive: true });
  const call: ShootClient['call'] = (method, path, given, headers = {}) => {
    const text = given === undefined ? undefined : JSON.stringify(given);
    const framing =
      text === undefined ? {} : { 'Content-Type': typeOf(method), 'Content-Length': Buffer.byteLength(text) };
    return new Promise((resolve, reject) => {
      const sent = request(`${server}${path}`, { method, agent, headers: { ...framing, ...headers } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const received = Buffer.concat(chunks).toString('utf8');
          const { statusCode: status = 0, headers: got } = response;
          resolve({ status, headers: got, text: received, body: received === '' ? null : JSON.parse(received) });
        });
      });
      sent.on('error', reject);
      sent.end(text);
    });
  };
  return { server, certificateAuthority: decoded(ca), call, close: () => agent.destroy() };
}

export const SECRETS = '/api/v1/namespaces/kube-system/secrets';

const encoded = (value: string): string => Buffer.from(value).toString('base64');

/** A bootstrap token that is valid for an hour, as a Secret. The given values replace its own. */
export function aToken(values: Readonly<Record<string, string>> = {}, id = 'abcdef') {
  const all = {
    'token-id': id,
    'token-secret': '0123456789abcdef',
    expiration: new Date(Date.now() + 3_600_000).toISOString(),
    'usage-bootstrap-authentication': 'true',
    ...values,
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(Object.entries(all).map(([key, value]) => [key, encoded(value)])),
  };
}

export const TOKEN_TEXT = 'abcdef.0123456789abcdef';
