import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectGarden, type GardenCall, type GardenClient, type GardenOptions } from '../src/index.js';

export const aToken = 'tOkEn0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX';
export const aServer = 'https://garden.test';

export interface TestClient {
  client: GardenClient;
  calls: GardenCall[];
  /** All log lines. */
  logged: string[];
}

export function aKubeconfig(server: string, user: object = { token: aToken }, cluster: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'garden', user: 'corral' } }],
    clusters: [{ name: 'garden', cluster: { server, ...cluster } }],
    users: [{ name: 'corral', user }],
  });
}

/** A client with short timeouts, so tests of timeouts are fast. */
export function aClient(server: string = aServer, overrides: Partial<GardenOptions> = {}): TestClient {
  const calls: GardenCall[] = [];
  const logged: string[] = [];
  const write = (message: string, fields?: object) => {
    logged.push(
      `${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? `${value.stack}` : value))}`,
    );
  };
  const client = connectGarden({
    ...('kubeconfigPath' in overrides ? {} : { kubeconfigText: aKubeconfig(server) }),
    cloudProfileName: 'hcloud',
    timeoutMs: 20_000,
    log: { warn: write, error: write },
    onCall: (call) => calls.push(call),
    ...overrides,
  });
  return { client, calls, logged };
}

/** A Shoot as a garden returns it. */
export function aShoot(overrides: { metadata?: object; spec?: object; status?: object } = {}) {
  return {
    apiVersion: 'core.gardener.cloud/v1beta1',
    kind: 'Shoot',
    metadata: {
      name: 'c1234567',
      namespace: 'garden-t1234567',
      uid: 'uid-1',
      resourceVersion: '101',
      generation: 3,
      creationTimestamp: '2026-08-01T10:00:00Z',
      labels: { 'corral.dev/cluster': 'c-1' },
      annotations: {},
      finalizers: ['gardener'],
      managedFields: [{ manager: 'corral', operation: 'Apply', time: '2026-08-01T10:00:00Z', fieldsV1: {} as object }],
      ...overrides.metadata,
    },
    spec: { region: 'hel1', ...overrides.spec },
    status: { observedGeneration: 3, hibernated: false, ...overrides.status },
  };
}

export const aShootName = { namespace: 'garden-t1234567', name: 'c1234567' };

/** A failure as a Kubernetes API server returns it. */
export function aStatus(code: number, reason: string, message: string, details: object = {}, metadata: object = {}) {
  return { kind: 'Status', apiVersion: 'v1', metadata, status: 'Failure', message, reason, details, code };
}

export interface TestServer {
  url: string;
  requests: { method: string; path: string; headers: IncomingMessage['headers']; body: string }[];
  close(): Promise<void>;
}

/** A real HTTP server on loopback. @param answer called when a request was received completely */
export async function startServer(
  answer: (request: TestServer['requests'][number], response: ServerResponse) => void,
): Promise<TestServer> {
  const requests: TestServer['requests'] = [];
  const server: Server = createServer((incoming, response) => {
    let body = '';
    incoming.on('data', (chunk) => (body += chunk));
    incoming.on('end', () => {
      const request = { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers, body };
      requests.push(request);
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function answerJson(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Builds answers that log a word when they are requested. */
export function notes(): { order: string[]; noting: (word: string, body: object) => () => object } {
  const order: string[] = [];
  const noting = (word: string, body: object) => () => {
    order.push(word);
    return body;
  };
  return { order, noting };
}
