import { once } from 'node:events';
import { Agent, createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMetrics, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import { plainErrors } from '../../test/plain-errors.js';
import { flightBound } from './flight-bound.js';

const [BURST, NEIGHBOUR] = ['192.0.2.1', '192.0.2.2'];

/** A server behind a proxy, whose work ends when the test says so. */
async function start(bounds: { readonly max: number; readonly connections: number }) {
  const app = express();
  app.set('trust proxy', 'loopback');
  const { check } = flightBound({
    ...bounds,
    hintOf: () => null,
    errors: plainErrors,
    log: silentLog,
    metrics: createMetrics({ service: 'test' }),
  });
  let arrived = 0;
  const begun: { readonly whose: string | undefined; readonly res: ServerResponse }[] = [];
  app.use((_req, _res, next) => {
    arrived += 1;
    next();
  });
  app.use(check, ({ ip }, res) => void begun.push({ whose: ip, res }));
  const server = createServer(app);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  const headers = (whose: string) => ({ 'X-Forwarded-For': whose });
  return {
    begun,
    arrived: () => arrived,
    send: (whose: string) =>
      get({ host: '127.0.0.1', port, agent, headers: headers(whose) }, (answer) => void answer.resume()).on(
        'error',
        () => undefined,
      ),
    close: () => {
      agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

describe('a burst', () => {
  it('runs at most one request per database connection, and others do not wait for it', async () => {
    const { begun, arrived, send, close } = await start({ max: 32, connections: 2 });
    const whoseBegan = () => begun.map(({ whose }) => whose);
    for (let sent = 0; sent < 8; sent += 1) send(BURST);
    await waitFor('the burst', () => arrived() === 8);

    send(NEIGHBOUR);
    await waitFor('the neighbour’s turn', () => whoseBegan().includes(NEIGHBOUR));
    expect(whoseBegan()).toEqual([BURST, BURST, NEIGHBOUR]);

    for (let done = 0; done < 9; done += 1) {
      await waitFor('the next one', () => begun.length > done);
      begun[done]?.res.end();
    }
    expect(whoseBegan()).toEqual([BURST, BURST, NEIGHBOUR, ...Array(6).fill(BURST)]);
    close();
  });
});
