import { once } from 'node:events';
import { createHealth, createMetrics, type Metrics, silentLog } from '@corral/service';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Request, RequestHandler, Response } from 'express';
import {
  type ApiError,
  admitRequests,
  clientErrorRenderer,
  type ErrorShape,
  errorHandler,
  healthRoutes,
  mountRoutes,
  type RequestFaultKind,
  type Served,
  serve,
  serviceApp,
  staticPage,
  unknownPath,
} from '../src/index.js';
import { openRaw } from './service-process.js';

const statuses: Partial<Record<RequestFaultKind, number>> = { method_not_allowed: 405, unknown_path: 404 };
/** Errors whose body is their code. */
const errors: ErrorShape<ApiError> = {
  contentType: 'text/code',
  ofFault: (fault) => Object.assign(fault, { code: fault.kind, status: statuses[fault.kind] ?? 400 }),
  ofThrown: (thrown) =>
    thrown === 'no token' ? Object.assign(new Error(), { code: thrown, status: 401, retryAfterSeconds: null }) : null,
  unexpected: () => Object.assign(new Error(), { code: 'unexpected', status: 500, retryAfterSeconds: null }),
  bodyOf: ({ code }) => code,
};

let served: Served;
let metrics: Metrics;
beforeEach(async () => {
  metrics = createMetrics({ service: 'test' });
  const bounds = { max: 32, connections: 10, hintOf: () => null };
  const admission = admitRequests({ ...bounds, errors, log: silentLog, metrics });
  const app = serviceApp({ trustProxy: false, log: silentLog, metrics, admit: admission.check });
  const health = createHealth({ checks: {}, log: silentLog });
  app.use(healthRoutes(health));
  app.all(
    '/page',
    staticPage(() => ({ type: 'text/plain', content: 'read me' })),
  );
  const table = [
    { operationId: 'read', method: 'get', path: '/sets' },
    { operationId: 'stop', method: 'post', path: '/sets/{id}/stop' },
    { operationId: 'remove', method: 'delete', path: '/sets/{id}' },
  ] as const;
  const done: RequestHandler = (_req, res) => void res.end('done');
  const handlers = { read: (_req: Request, res: Response) => void res.end('read'), stop: done, remove: done };
  app.use(mountRoutes(table, handlers, { bodyBounds: () => ({ bytes: 400_000 }) }));
  app.get('/closed', () => {
    throw 'no token';
  });
  app.use(unknownPath);
  app.use(errorHandler(errors, silentLog));
  served = await serve({
    app,
    host: '127.0.0.1',
    port: 0,
    metricsPort: 0,
    metrics,
    health,
    log: silentLog,
    shutdownGraceMs: 1_000,
    onClientError: clientErrorRenderer(errors),
  });
});
afterEach(() => served.close({ immediately: true }));

interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

async function send(lines: readonly string[], { port = served.port, rest = '' } = {}): Promise<Answer> {
  const client = await openRaw(port);
  client.socket.write(`${lines.join('\r\n')}\r\n\r\n${rest}`);
  if (client.text() === '') await Promise.race([once(client.socket, 'data'), client.closed]);
  await client.closed;
  const [head = '', body = ''] = client.text().split('\r\n\r\n');
  const [line = '', ...headers] = head.split('\r\n');
  return {
    status: Number(line.split(' ')[1]),
    headers: new Map(headers.map((header) => header.toLowerCase().split(': ', 2) as [string, string])),
    body,
  };
}

const HOST = ['Host: corral', 'Connection: close'];

describe('a request that is not valid HTTP/1.1', () => {
  it.each([
    ['no Host', ['GET /sets HTTP/1.1', 'Connection: close']],
    ['an unknown expectation', ['POST /sets HTTP/1.1', ...HOST, 'Expect: 200-ok']],
    ['a target that is no URL', ['GET http://[ HTTP/1.1', ...HOST]],
    ['two lengths of its body', ['GET /sets HTTP/1.1', ...HOST, 'Transfer-Encoding: chunked', 'Content-Length: 3']],
    ['an unknown method', ['FETCH /sets HTTP/1.1', ...HOST]],
    ['a TLS handshake', ['\x16\x03\x01\x02\x00\x01']],
  ])('is answered in the shape of the API: %s', async (_what, lines) => {
    const { status, headers, body } = await send(lines);

    expect([status, body]).toEqual([400, 'invalid_http']);
    expect(headers.get('content-type')).toBe('text/code');
    expect(headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('connection')).toBe('close');
  });

  it('is answered 405 for CONNECT', async () => {
    const { status, headers, body } = await send(['CONNECT example.org:443 HTTP/1.1', ...HOST]);

    expect([status, body, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'get, head, post, put, delete']);
  });
});

describe('an unusual request that is valid', () => {
  it.each([
    ['HTTP/1.0 without a Host', ['GET /sets HTTP/1.0']],
    ['a target in absolute form', ['GET http://corral.example/sets HTTP/1.1', ...HOST]],
    ['100-continue', ['GET /sets HTTP/1.1', ...HOST, 'Expect: 100-continue']],
  ])('is served: %s', async (_what, lines) => {
    const client = await openRaw(served.port);
    client.socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    await client.closed;

    expect(client.text()).toMatch(/HTTP\/1.1 200 OK\r\n[\s\S]*read$/);
  });

  it.each([
    ['TRACE /sets', 405],
    ['OPTIONS *', 404],
    ['GET /%ff%zz', 404],
  ])('is refused in the shape of the API: %s', async (target, status) => {
    const answer = await send([`${target} HTTP/1.1`, ...HOST]);

    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/code']);
  });
});

describe('pages', () => {
  it.each(['/page', '/healthz', '/readyz'])('answer other methods 405 with Allow: %s', async (path) => {
    const { status, headers, body } = await send([`DELETE ${path} HTTP/1.1`, ...HOST]);

    expect([status, headers.get('allow'), body]).toEqual([405, 'get, head', 'method_not_allowed']);
    for (const method of ['HEAD', 'OPTIONS']) {
      expect(await send([`${method} ${path} HTTP/1.1`, ...HOST])).toMatchObject({ status: 200, body: '' });
    }
  });

  it.each([
    ['POST /metrics', 405],
    ['POST /healthz', 405],
    ['GET /else', 404],
  ])('at the port for monitoring are refused in a sentence: %s', async (target, status) => {
    const answer = await send([`${target} HTTP/1.1`, ...HOST], { port: served.metricsPort as number });

    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(answer.body).not.toContain('Error');
  });
});

describe('a body that a route does not take', () => {
  const answerTo = async (body: string, requestLine: string, ...more: readonly string[]) => {
    const answer = await send([`${requestLine} HTTP/1.1`, ...HOST, `Content-Length: ${body.length}`, ...more], {
      rest: body,
    });
    return [answer.status, answer.body];
  };

  it('may be empty, as clients send it', async () => {
    const target = 'POST /sets/1/stop';
    const json = 'Content-Type: application/json';

    expect((await send([`${target} HTTP/1.1`, ...HOST, json])).body).toBe('done');
    for (const body of ['', ' \n', '{}', '{ }\n', 'null']) {
      expect([body, await answerTo(body, target, json)]).toEqual([body, [200, 'done']]);
    }
    const chunks = await send([`${target} HTTP/1.1`, ...HOST, 'Transfer-Encoding: chunked'], {
      rest: '2\r\n{}\r\n0\r\n\r\n',
    });
    expect(chunks.body).toBe('done');
  });

  it.each(['POST /sets/1/stop', 'DELETE /sets/1'])('is refused, whatever it says: %s', async (target) => {
    for (const body of ['{"dryRun":true}', '{broken', '[]', '""', '0', 'a=1', 'x'.repeat(300_000)]) {
      expect([body.slice(0, 20), await answerTo(body, target)]).toEqual([body.slice(0, 20), [400, 'unexpected']]);
    }
    expect(await answerTo('x'.repeat(400_001), target)).toEqual([400, 'too_large']);
  });
});

describe('what strangers send', () => {
  it('does not become a label of the metrics', async () => {
    const page = () => metrics.registry.getSingleMetricAsString('corral_http_request_duration_seconds');
    const labelsIn = async (name: string) =>
      new Set([...(await page()).matchAll(new RegExp(`${name}="([^"]*)"`, 'g'))].map(([, value]) => value));
    for (const path of ['/sets', '/sets/7', '/page', '/stranger/7']) {
      for (const method of ['GET', 'DELETE', 'TRACE', 'PROPFIND']) {
        await send([
          `${method} ${path}?stranger=7 HTTP/1.1`,
          'Host: stranger',
          'Connection: close',
          'User-Agent: stranger',
        ]);
      }
    }

    expect(await labelsIn('method')).toEqual(new Set(['GET', 'DELETE', 'TRACE', '_OTHER']));
    expect(await labelsIn('route')).toEqual(new Set(['/sets', '/sets/{id}', '/page', 'unmatched']));
    expect(await labelsIn('status')).toEqual(new Set(['200', '404']));
    expect(await page()).not.toContain('stranger');
  });
});

describe('a refusal for want of authentication', () => {
  it('names the scheme, and says what is wrong only with a token that was sent', async () => {
    const challengeTo = async (...lines: readonly string[]) =>
      (await send(['GET /closed HTTP/1.1', ...HOST, ...lines])).headers.get('www-authenticate');

    expect(await challengeTo()).toBe('bearer realm="corral"');
    expect(await challengeTo('Authorization: Basic YTpi')).toBe('bearer realm="corral"');
    expect(await challengeTo('Authorization: Bearer wrong')).toBe('bearer realm="corral", error="invalid_token"');
  });
});
