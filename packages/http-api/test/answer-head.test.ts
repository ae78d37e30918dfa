import { createLog, createMetrics } from '@corral/service';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { RequestHandler } from 'express';
import { sendJsonText } from '../src/errors.js';
import { buildHttpServer, type DrainableServer } from '../src/server/http-server.js';
import { allowOrigins, serviceApp } from '../src/service-app.js';

let server: DrainableServer | undefined;
afterEach(() => server?.drain(0));

/** Headers, status and body of one answer of a service with this handler. */
async function answerOf(handler: RequestHandler, headers: Record<string, string> = {}) {
  const log = createLog({ service: 'test', level: 'error' });
  const app = serviceApp({
    trustProxy: false,
    log,
    metrics: createMetrics({ service: 'test' }),
    admit: (_req, _res, next) => next(),
    crossOrigin: allowOrigins({ origins: ['https://a.test'], methods: ['GET'], requestHeaders: [], answerHeaders: [] }),
  });
  app.use(handler);
  server = buildHttpServer(app);
  await new Promise<void>((done) => server?.server.listen(0, '127.0.0.1', done));
  const { port } = server.server.address() as { port: number };
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
}

/** What Helmet sets, and what every answer has. */
const always = [
  'content-security-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'origin-agent-cluster',
  'referrer-policy',
  'strict-transport-security',
  'vary',
  'x-content-type-options',
  'x-correlation-id',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-xss-protection',
];

describe('the head of an answer', () => {
  it.each<[string, RequestHandler]>([
    ['text that is sent as it is', (_req, res) => sendJsonText(res, 200, '{"a":"ä"}')],
    ['what Express sends', (_req, res) => void res.json({})],
  ])('has the headers of all answers: %s', async (_what, handler) => {
    const { headers } = await answerOf(handler);

    expect(Object.keys(headers)).toEqual(expect.arrayContaining(always));
    expect(headers).toMatchObject({ vary: 'Origin', 'x-frame-options': 'SAMEORIGIN' });
  });

  it('has what a handler set instead of them', async () => {
    const { headers } = await answerOf((_req, res) => {
      res.set({ 'Content-Security-Policy': "default-src 'none'" }).vary('Accept-Encoding');
      sendJsonText(res, 200, '{}');
    });

    expect(headers['content-security-policy']).toBe("default-src 'none'");
    expect(headers.vary).toBe('Origin, Accept-Encoding');
  });

  it('names the length of the body in bytes', async () => {
    const { headers, body } = await answerOf((_req, res) => sendJsonText(res, 200, '{"a":"ä€😀"}'));

    expect([headers['content-length'], body]).toEqual([String(Buffer.byteLength(body)), '{"a":"ä€😀"}']);
    expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  });
});
