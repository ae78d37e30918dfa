import type { HealthCheck } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import type { Served } from '../src/server/serve.js';
import { openRaw } from './service-process.js';
import { startServing } from './start-serving.js';

let served: Served | undefined;
afterEach(async () => {
  await served?.close({ immediately: true });
  served = undefined;
});

async function start(...given: Parameters<typeof startServing>) {
  const started = await startServing(...given);
  served = started;
  return started;
}

describe('serve', () => {
  it('serves metrics and health on a separate port only', async () => {
    const { url, metricsUrl } = await start((app) => app.get('/x/:id', (_req, res) => res.json({})));
    await fetch(`${url}/x/1`);

    const metrics = await waitFor('the request in the metrics', async () => {
      const text = await (await fetch(`${metricsUrl}/metrics`)).text();
      return text.includes('/x/:id') ? text : undefined;
    });

    expect(metrics).toContain(
      'corral_http_request_duration_seconds_count{service="test",route="/x/:id",method="GET",status="200"} 1',
    );
    expect(metrics).toContain('process_cpu_seconds_total');
    expect((await fetch(`${metricsUrl}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
  });
});

describe('a closing server', () => {
  const start60 = () => start((app) => app.get('/x', (_req, res) => res.json({})), { drainDelayMs: 60_000 });

  it('serves until proxies know: it is not ready, and announces the end of each connection', async () => {
    const { url, metricsUrl, close } = await start60();

    const closed = close();
    const answer = await fetch(`${url}/x`);
    const readiness = await fetch(`${metricsUrl}/readyz`);

    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect([readiness.status, await readiness.json()]).toEqual([503, { status: 'unavailable', failing: ['shutdown'] }]);
    await close({ immediately: true });
    await closed;
    await expect(fetch(`${url}/x`)).rejects.toThrow();
  });

  it('sends the rest of an answer to a slow client before it closes the connection', async () => {
    const bytes = 64 * 1_048_576; // more than the buffers of any network
    let hasAnswered = false;
    const addRoutes = (app: Express) =>
      app.get('/x', (_req, res) => {
        res.end(Buffer.alloc(bytes, 'x'));
        hasAnswered = true;
      });
    const { port, health, close } = await start(addRoutes, { shutdownGraceMs: 60_000 });
    const client = await openRaw(port);
    client.socket.pause();
    client.socket.write('GET /x HTTP/1.1\r\nHost: corral\r\n\r\n');
    await waitFor('the answer', () => hasAnswered);

    const closed = close();
    await waitFor('the server to close connections', () => health.draining.aborted);
    client.socket.resume();
    await client.closed;
    await closed;

    expect(client.text().split('\r\n\r\n').at(1)?.length).toBe(bytes);
  });

  it('continues long answers while it serves, and ends them when it accepts no more connections', async () => {
    const { health, close } = await start60();

    const closed = close();

    expect(health.draining.aborted).toBe(false);
    await close({ immediately: true });
    await closed;
    expect(health.draining.aborted).toBe(true);
  });
});

describe('requestId', () => {
  it('is generated, and logged beside the trace id of the client', async () => {
    const { url, requestLine } = await start((app) => app.get('/x', (_req, res) => res.json({})));
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

    const answer = await fetch(`${url}/x`, {
      headers: { 'X-Request-Id': 'mine', 'X-Correlation-Id': 'mine', traceparent },
    });

    const requestId = answer.headers.get('X-Correlation-Id');
    expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(await requestLine()).toMatchObject({ requestId, traceId: '4bf92f3577b34da6a3ce929d0e0e4736' });
  });

  it.each([
    ['repeated', ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', '00-1-2-3']],
    ['malformed', ['"} {"requestId":"forged"']],
  ])('serves a request with a %s traceparent, and logs no trace id', async (_what, values) => {
    const { url, requestLine } = await start((app) => app.get('/x', (_req, res) => res.json({})));
    const headers = new Headers();
    for (const value of values) headers.append('traceparent', value);

    expect((await fetch(`${url}/x`, { headers })).status).toBe(200);

    const line = await requestLine();
    expect(line).not.toHaveProperty('traceId');
    expect(line.requestId).not.toBe('forged');
  });
});

describe('the log line of a request', () => {
  it('writes path, route pattern, status, time, bytes and team, and never the query', async () => {
    const { url, requestLine, logLines } = await start((app) => {
      app.get('/teams/:team/clusters/:name/', (_req, res) => {
        Object.assign(res.locals, { team: 'acme', tokenId: 'an id', record: 'www.acme/A', code: 'a_code' });
        res.status(201).json({ a: 1 });
      });
    });

    const headers = { 'user-agent': `a client ${'x'.repeat(300)}` };
    await fetch(`${url}/teams/acme/clusters/web/?token=hunter2`, { headers });

    expect(await requestLine()).toMatchObject({
      level: 'info',
      method: 'GET',
      path: '/teams/acme/clusters/web/',
      route: '/teams/:team/clusters/:name/',
      status: 201,
      ms: expect.any(Number),
      bytes: 7,
      team: 'acme',
      tokenId: 'an id',
      record: 'www.acme/A',
      code: 'a_code',
      client: expect.stringMatching(/127\.0\.0\.1|::1/),
      userAgent: expect.stringMatching(/^a client x{191}$/),
    });
    expect(JSON.stringify(await logLines())).not.toContain('hunter2');
  });

  it('logs that the client left before the answer', async () => {
    let begun = false;
    const { port, requestLine } = await start((app) =>
      app.get('/never', () => {
        begun = true;
      }),
    );
    const client = await openRaw(port);
    client.socket.write('GET /never HTTP/1.1\r\nHost: corral\r\n\r\n');
    await waitFor('the request to arrive', () => begun);

    client.socket.destroy();

    expect(await requestLine()).toMatchObject({ path: '/never', aborted: true });
  });
});

describe('/readyz', () => {
  it('names failing and late checks without details, and recovers', async () => {
    let up = false;
    const database: HealthCheck = async () => {
      if (!up) throw new Error('password authentication failed for user corral');
    };
    const checks = { database, redis: () => (up ? Promise.resolve() : new Promise(() => {})), fine: async () => 1 };
    const { metricsUrl } = await start(() => {}, {}, checks);

    const down = await fetch(`${metricsUrl}/readyz`);
    const body = await down.json();
    up = true;
    const again = await fetch(`${metricsUrl}/readyz`);

    expect([down.status, body]).toEqual([503, { status: 'unavailable', failing: ['database', 'redis'] }]);
    expect([again.status, await again.json()]).toEqual([200, { status: 'ok' }]);
  });
});
