import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { stringify } from 'yaml';
import type { GardenOptions } from '../src/index.js';
import { type Authority, anAuthority, base64 } from './a-certificate.js';
import {
  aClient,
  aKubeconfig,
  answerJson,
  aShoot,
  aStatus,
  startServer,
  type TestClient,
  type TestServer,
} from './a-garden.js';

const serverName = 'api.shoot.test';
/** All Shoots of a file share it, because certificates take long to make. */
export const authority = await anAuthority('shoot');

interface ShootRequest {
  /** The user in the client certificate. */
  user: string;
  method: string;
  path: string;
  query: URLSearchParams;
  type: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it, it says itself
  body: any;
}

export type ShootAnswer = (request: ShootRequest, response: ServerResponse) => void;

/** A Shoot with a TLS API server, and a garden that issues kubeconfigs for it. */
export interface RunningShoot extends TestClient {
  requests: ShootRequest[];
  /** Users of the kubeconfigs that the garden has issued: `admin-1`, `admin-2`, … */
  issued: string[];
  /** Users that the Shoot now rejects. */
  refused: Set<string>;
  /** The answers by method and path. Other paths answer 404. */
  routes: Record<string, ShootAnswer>;
  /** Replace the garden's answers. */
  garden: ((request: TestServer['requests'][number], response: ServerResponse) => void) | null;
  /** How many of the requested 3600 s it grants. */
  grantedSeconds: number;
  workers: object[];
  authority: Authority;
  /** Continues with another authority, like a recreated Shoot. */
  moveTo(authority: Authority): Promise<void>;
  /** Stops listening. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

export async function startShoot(overrides: Partial<GardenOptions> = {}): Promise<RunningShoot> {
  const shoot = {
    requests: [] as ShootRequest[],
    issued: [] as string[],
    refused: new Set<string>(),
    routes: {} as Record<string, ShootAnswer>,
    garden: null as RunningShoot['garden'],
    grantedSeconds: 3_600,
    workers: [{ name: 'p1', machine: { type: 'cx22', architecture: 'amd64' } }] as object[],
    authority,
  };

  const certified = async (authority: Authority) => ({
    ...authority.issue('kube-apiserver', serverName),
    ca: authority.ca,
  });
  const server = createServer(
    { ...(await certified(shoot.authority)), requestCert: true, rejectUnauthorized: false },
    (incoming, response) => {
      let text = '';
      incoming.on('data', (chunk) => (text += chunk));
      incoming.on('end', () => {
        const request = requestOf(incoming, text);
        shoot.requests.push(request);
        const answer = shoot.routes[`${request.method} ${request.path}`] ?? absent;
        if (shoot.refused.has(request.user)) answerJson(response, 401, aStatus(401, 'Unauthorized', 'Unauthorized'));
        else answer(request, response);
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const issue = async () => {
    const user = `admin-${shoot.issued.push(`admin-${shoot.issued.length + 1}`)}`;
    const { cert, key } = shoot.authority.issue(user);
    const cluster = { 'certificate-authority-data': base64(shoot.authority.ca), 'tls-server-name': serverName };
    const credentials = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
    const expiresAt = new Date(Date.now() + shoot.grantedSeconds * 1_000);
    return {
      kubeconfig: asAnswered(aKubeconfig(url, credentials, cluster)),
      expirationTimestamp: expiresAt.toISOString(),
    };
  };
  const garden = await startServer(async (request, response) => {
    if (shoot.garden !== null) shoot.garden(request, response);
    else if (request.method === 'POST') answerJson(response, 201, { status: await issue() });
    else answerJson(response, 200, aShoot({ spec: { provider: { workers: shoot.workers } } }));
  });

  const test = aClient(garden.url, overrides);
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return Object.assign(shoot, test, {
    async moveTo(authority: Authority) {
      shoot.authority = authority;
      server.setSecureContext(await certified(authority));
      server.closeAllConnections();
    },
    stop,
    async close() {
      await test.client.close();
      await garden.close();
      await stop();
    },
  });
}

/** Encodes a kubeconfig in YAML and base64. */
export const asAnswered = (kubeconfig: string): string => base64(stringify(JSON.parse(kubeconfig)));

function requestOf(incoming: IncomingMessage, text: string): ShootRequest {
  const { pathname, searchParams } = new URL(incoming.url ?? '', 'https://x');
  return {
    user: String((incoming.socket as TLSSocket).getPeerCertificate()?.subject?.CN),
    method: incoming.method ?? '',
    path: pathname,
    query: searchParams,
    type: incoming.headers['content-type'],
    body: text === '' ? null : JSON.parse(text),
  };
}

const absent: ShootAnswer = ({ path }, response) => {
  const name = path.split('/').at(-1);
  answerJson(response, 404, aStatus(404, 'NotFound', `"${name}" not found`, { name, kind: 'nodes' }));
};

export const saying =
  (status: number, body: object): ShootAnswer =>
  (_request, response) =>
    answerJson(response, status, body);

/** Answers in pages of `limit`. */
export const listing =
  (items: readonly object[]): ShootAnswer =>
  ({ query }, response) => {
    const from = Number(query.get('continue') ?? 0);
    const until = from + Number(query.get('limit'));
    const metadata = items.length > until ? { continue: String(until) } : {};
    answerJson(response, 200, { metadata, items: items.slice(from, until) });
  };

export function aNode(overrides: { metadata?: object; spec?: object; conditions?: object[] } = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'web-1', uid: 'uid-web-1', labels: { a: 'b' }, annotations: { c: 'd' }, ...overrides.metadata },
    spec: { ...overrides.spec },
    status: { conditions: overrides.conditions ?? [{ type: 'Ready', status: 'True' }] },
  };
}

export const nodeAt = '/api/v1/nodes/web-1';
