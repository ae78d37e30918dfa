import { setImmediate as immediate } from 'node:timers/promises';
import { createHealth, createMetrics, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Served, serve, serviceApp } from '../src/index.js';

let served: Served;
afterEach(() => served.close());

async function start() {
  const metrics = createMetrics({ service: 'test' });
  const admit = (_req: unknown, _res: unknown, next: () => void) => next();
  served = await serve({
    app: serviceApp({ trustProxy: false, log: silentLog, metrics, admit }),
    host: '127.0.0.1',
    port: 0,
    connections: { max: 1_000, perAddressMax: 1_000 },
    metrics,
    health: createHealth({ checks: {}, log: silentLog }),
    log: silentLog,
    shutdownGraceMs: 1_000,
  });
  return async (): Promise<{ readonly count: number; readonly seconds: number }> => {
    const page = await metrics.registry.getSingleMetricAsString('corral_connection_wait_seconds');
    const numberAfter = (name: string) => Number(new RegExp(`${name}{[^}]*} (\\S+)`).exec(page)?.[1] ?? 0);
    return { count: numberAfter('_count'), seconds: numberAfter('_sum') };
  };
}

describe('the wait of new connections', () => {
  it('is measured by the process itself, also while no client connects', async () => {
    const waits = await start();
    let isOver = false;
    const work = async () => {
      while (!isOver) {
        const until = performance.now() + 50;
        while (performance.now() < until);
        await immediate();
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
});
