import { createServer, type Server, type Socket } from 'node:net';
import { verifyToken } from '@corral/hcloud';
import { startIntercepting, stopIntercepting } from '@corral/testing/interception';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

const TOKEN = 'token-of-the-project-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const PROVIDER = 'http://provider.test/v1';
/** Longer than any answer takes on a busy machine. */
const PATIENT_MS = 30_000;

let test: TestClusterApi;
let baseUrl: string;
let timeoutMs: number;
beforeAll(async () => {
  startIntercepting();
  test = await startClusterApi({
    deps: { verifyToken: (token) => verifyToken({ baseUrl, token, timeoutMs }) },
  });
});
afterAll(async () => {
  stopIntercepting();
  await test.close();
});
beforeEach(() => {
  baseUrl = PROVIDER;
  timeoutMs = PATIENT_MS;
  nock.disableNetConnect();
  nock.enableNetConnect('127.0.0.1');
});
afterEach(() => {
  nock.cleanAll();
  nock.enableNetConnect();
});

type Reply = readonly [status: number, body: string];
const GROUPS = '/placement_groups';
const LEFT_OVERS = `${GROUPS}?label_selector=corral.dev%2Fprobe`;
const listed: Reply = [200, JSON.stringify({ placement_groups: [] })];
const made: Reply = [201, JSON.stringify({ placement_group: { id: 7 } })];
const refusal = (code: string): string => JSON.stringify({ error: { code, message: 'no', details: null } });
const unauthorized: Reply = [401, refusal('unauthorized')];

/** Lets the provider answer the next calls with these replies. Further calls fail. */
function theProvider(...replies: readonly Reply[]): nock.Scope {
  const scope = nock(PROVIDER, { reqheaders: { authorization: `Bearer ${TOKEN}` } });
  for (const [status, body] of replies) {
    scope.intercept(status === 201 ? GROUPS : LEFT_OVERS, status === 201 ? 'POST' : 'GET').reply(status, body);
    if (status === 201) scope.delete(`${GROUPS}/7`).reply(204);
  }
  return scope;
}

async function phaseAfterPut(): Promise<string> {
  await test.db.connection.deleteMany();
  const sent = test.api.as(test.acme.admin).put(test.acme.path('/connections/main/'));
  const { body } = await sent.send({ spec: { provider: 'hcloud', token: TOKEN } }).expect(201);
  return body.status.phase;
}

describe('a connection whose provider', () => {
  it.each<[string, readonly Reply[], string]>([
    ['allows list, create and delete is ready', [listed, made], 'Ready'],
    ['answers 401 twice is rejected', [unauthorized, unauthorized], 'Rejected'],
    ['answers 401, then accepts the token, is ready', [unauthorized, listed, made], 'Ready'],
    ['answers 401, then 500, is not verified', [unauthorized, [500, '']], 'Unverified'],
    ['answers 429 is not verified', [[429, refusal('rate_limit_exceeded')]], 'Unverified'],
    ['answers 500 is not verified', [[500, refusal('server_error')]], 'Unverified'],
    ['answers an HTML page is not verified', [[200, '<html>Welcome</html>']], 'Unverified'],
    ['answers an empty body is not verified', [[200, '']], 'Unverified'],
  ])('%s', async (_what, replies, phase) => {
    const scope = theProvider(...replies);

    expect(await phaseAfterPut()).toBe(phase);
    expect(scope.isDone()).toBe(true);
  });
});

describe('a connection whose provider, at the socket level,', () => {
  let server: Server;
  const sockets = new Set<Socket>();
  async function theSocket(onRequest: (socket: Socket) => void): Promise<void> {
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', () => onRequest(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
  }
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each<[string, (socket: Socket) => void]>([
    [
      'ends in the middle of a body',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{"placement_groups": ['),
    ],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
    ['does not speak HTTP', (socket) => socket.end('220 mail.test ESMTP\r\n')],
    ['never answers', () => undefined],
    [
      'sends one byte at a time without end',
      (socket) => void setInterval(() => socket.writable && socket.write(' '), 50).unref(),
    ],
  ])('%s is not verified, after a short time', async (_what, onRequest) => {
    timeoutMs = 400;
    await theSocket(onRequest);

    // Some of these never end on their own. That there is an answer proves the time limit.
    expect(await phaseAfterPut()).toBe('Unverified');
  });
});
