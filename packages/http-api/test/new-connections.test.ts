import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHealth, createMetrics, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { flightBound, type Served, serve, serviceApp, type TlsOptions } from '../src/index.js';
import { plainErrors } from './plain-errors.js';
import { makeTlsFolder } from './tls-files.js';

let served: Served;
afterEach(() => served.close());

const BURST = 200;
const MAX = 32;

/** A service whose requests take some turns of the event loop. */
async function start(tls?: TlsOptions) {
  const metrics = createMetrics({ service: 'test' });
  const flights = flightBound({
    max: MAX,
    connections: 10,
    hintOf: ({ headers }) => headers.cookie ?? null,
    errors: plainErrors,
    log: silentLog,
    metrics,
  });
  const app = serviceApp({ trustProxy: false, log: silentLog, metrics, flights });
  const seen = { answered: 0, answeredBefore: -1 };
  app.get(
    '/crowd',
    flights.countAs(() => 'crowd'),
    async (_req, res) => {
      for (let turns = 0; turns < 5; turns += 1) await nextTurn();
      seen.answered += 1;
      res.end();
    },
  );
  app.get('/neighbour', (_req, res) => {
    seen.answeredBefore = seen.answered;
    res.end();
  });
  const health = createHealth({ checks: {}, log: silentLog });
  served = await serve({
    app,
    host: '127.0.0.1',
    port: 0,
    ...(tls && { tls }),
    connections: { max: 1_000, perAddressMax: 1_000 },
    metrics,
    health,
    log: silentLog,
    shutdownGraceMs: 1_000,
  });
  const send = (path: string) => {
    const socket = connect({ host: '127.0.0.1', port: served.port }).resume();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: corral\r\nConnection: close\r\nCookie: ${path}\r\n\r\n`);
  };
  const waits = async (): Promise<{ readonly count: number; readonly seconds: number }> => {
    const page = await metrics.registry.getSingleMetricAsString('corral_connection_wait_seconds');
    const numberAfter = (name: string) => Number(new RegExp(`${name}{[^}]*} (\\S+)`).exec(page)?.[1] ?? 0);
    return { count: numberAfter('_count'), seconds: numberAfter('_sum') };
  };
  return { send, seen, waits };
}

describe('a new connection', () => {
  it('is accepted before the work that a burst of earlier connections has brought', async () => {
    const { send, seen } = await start();

    for (let sent = 0; sent < BURST; sent += 1) send('/crowd');
    send('/neighbour');

    await waitFor('all answers', () => seen.answered === BURST && seen.answeredBefore >= 0);
    expect(seen.answeredBefore).toBeLessThan(BURST / 4);
  });
});

describe('the wait of new connections', () => {
  it('is measured by the process itself, also while no client connects', async () => {
    const { waits } = await start();
    let isOver = false;
    const work = async () => {
      while (!isOver) {
        const until = performance.now() + 50;
        while (performance.now() < until);
        await nextTurn();
      }
    };

    const [{ count, seconds }] = await Promise.all([
      waitFor('a measurement', async () => {
        const measured = await waits();
        return measured.count > 0 && measured;
      }).finally(() => {
        isOver = true;
      }),
      work(),
    ]);

    expect(seconds / count).toBeGreaterThan(0.05);
  });

  it('is measured at a port with TLS', async () => {
    const files = await makeTlsFolder();
    const { waits } = await start(files);

    await waitFor('a measurement', async () => (await waits()).count > 0);
    await files.remove();
  });
});
