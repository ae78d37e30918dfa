import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { outside } from '@corral/admission';
import { createMetrics, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { admitRequests, scopeOf } from '../src/index.js';
import { plainErrors } from './plain-errors.js';

const BURST = '192.0.2.1';
const NEIGHBOUR = '192.0.2.2';
const WAITING_TIMES = 8;

let close: () => void;
afterEach(() => close());

/** A server behind a proxy, whose work ends when the test says so. A token that ends in `of acme` belongs to acme. */
async function start(bounds: { readonly max: number; readonly connections: number }) {
  const app = express();
  app.set('trust proxy', 'loopback');
  const { check, countAs } = admitRequests({
    ...bounds,
    hintOf: ({ headers }) => headers.authorization ?? null,
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
  const owner = countAs(({ headers }) => (headers.authorization?.endsWith('of acme') ? 'acme' : null));
  app.use(check, owner);
  app.get('/healthz', (_req, res) => void res.end('alive'));
  app.get('/elsewhere', (_req, res) => {
    void outside(scopeOf(res), () => new Promise<void>(() => undefined));
    begun.push({ whose: 'elsewhere', res });
  });
  app.use(({ ip }, res) => void begun.push({ whose: ip, res }));
  const server = createServer(app);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  close = () => {
    agent.destroy();
    server.close();
    server.closeAllConnections();
  };
  const send = (whose: string, { path = '/', token }: { path?: string; token?: string } = {}) => {
    const headers = { 'X-Forwarded-For': whose, ...(token !== undefined && { Authorization: token }) };
    const answer: { status?: number | undefined; headers?: IncomingMessage['headers']; leave(): void } = {
      leave: () => request.destroy(),
    };
    const request = get({ host: '127.0.0.1', port, agent, path, headers }, (message) => {
      Object.assign(answer, { status: message.statusCode, headers: message.headers });
      message.resume();
    }).on('error', () => undefined);
    return answer;
  };
  /** Sends this many, in this order. */
  const sendMany = async (count: number, whose: string, more?: Parameters<typeof send>[1]) => {
    const answers: ReturnType<typeof send>[] = [];
    for (let sent = 0; sent < count; sent += 1) {
      const before = arrived;
      answers.push(send(whose, more));
      await waitFor('the request to arrive', () => arrived > before);
    }
    return answers;
  };
  /** Sends them on one connection, without waiting for answers. */
  const sendPipelined = async (paths: readonly string[], whose: string) => {
    const before = arrived;
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket
      .on('error', () => undefined)
      .on('data', (piece) => {
        text += piece;
      });
    const heads = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${whose}\r\n\r\n`);
    socket.write(heads.join(''));
    await waitFor('the requests to arrive', () => arrived === before + paths.length);
    /** Status and body. */
    const answers = () => {
      const [, ...each] = text.split('HTTP/1.1 ');
      return each.map((answer) => `${answer.slice(0, 3)} ${answer.split('\r\n\r\n')[1]}`);
    };
    return { answers, leave: () => socket.destroy() };
  };
  return { begun, whoseBegan: () => begun.map(({ whose }) => whose), send, sendMany, sendPipelined };
}

describe('a burst of one owner', () => {
  it('is worked on to a part at a time, and others do not wait for it', async () => {
    const { begun, whoseBegan, send, sendMany } = await start({ max: 32, connections: 4 });
    await sendMany(8, BURST);

    send(NEIGHBOUR);
    await waitFor('the neighbour’s turn', () => whoseBegan().includes(NEIGHBOUR));
    expect(whoseBegan()).toEqual([BURST, BURST, NEIGHBOUR]);

    for (let done = 0; done < 9; done += 1) {
      await waitFor('the next one', () => begun.length > done);
      begun[done]?.res.end();
    }
    expect(whoseBegan()).toEqual([BURST, BURST, NEIGHBOUR, ...Array(6).fill(BURST)]);
  });

  it('loses its last requests when the room is full, with 503 and Retry-After, and that of a neighbour waits', async () => {
    const { begun, send, sendMany } = await start({ max: 1, connections: 1 });
    const burst = await sendMany(1 + WAITING_TIMES, BURST);

    const [neighbour] = await sendMany(1, NEIGHBOUR);
    await waitFor('the last of the burst to be refused', () => burst.at(-1)?.status !== undefined);
    expect([burst.at(-1)?.status, burst.at(-1)?.headers?.['retry-after']]).toEqual([503, '1']);
    const [next] = await sendMany(1, BURST);
    await waitFor('the next to be refused', () => next?.status === 503);

    begun[0]?.res.end();
    await waitFor('two to begin', () => begun.length === 2);
    begun[1]?.res.end();
    await waitFor('the neighbour to be served', () => {
      for (const { res } of begun) res.end();
      return neighbour?.status === 200;
    });
    expect(burst.slice(0, -1).filter(({ status }) => status === 503)).toEqual([]);
    send(BURST);
  });

  it('is known by its token, wherever it is sent from, once one request was found to be of its owner', async () => {
    const { begun, whoseBegan, send, sendMany } = await start({ max: 32, connections: 2 });
    const token = 'a token of acme';
    await sendMany(1, BURST, { token });
    await waitFor('it to begin', () => begun.length === 1);
    begun[0]?.res.end();

    await sendMany(1, BURST, { token });
    await waitFor('it to begin', () => begun.length === 2);
    await sendMany(1, NEIGHBOUR, { token });
    send(NEIGHBOUR);

    await waitFor('the neighbour’s own request', () => begun.length === 3);
    expect(whoseBegan()).toEqual([BURST, BURST, NEIGHBOUR]);
    begun[1]?.res.end();
    await waitFor('the rest of the burst', () => begun.length === 4);
  });
});

describe('while no place is free', () => {
  it('probes are answered', async () => {
    const { sendMany } = await start({ max: 1, connections: 1 });
    await sendMany(2, BURST);

    const [probe] = await sendMany(1, NEIGHBOUR, { path: '/healthz' });

    await waitFor('the answer', () => probe?.status === 200);
  });

  it('a request whose client leaves never begins', async () => {
    const { begun, sendMany, whoseBegan } = await start({ max: 1, connections: 1 });
    await sendMany(1, BURST);
    const [left] = await sendMany(1, BURST);
    left?.leave();
    await sendMany(1, NEIGHBOUR);

    await waitFor('the neighbour’s turn', () => {
      begun[0]?.res.end();
      return begun.length > 1;
    });
    expect(whoseBegan()).toEqual([BURST, NEIGHBOUR]);
  });
});

describe('requests that are sent before an earlier one of their connection is answered', () => {
  it('are refused in larger numbers', async () => {
    const { begun, sendPipelined } = await start({ max: 32, connections: 32 });
    const connection = await sendPipelined(['/elsewhere', ...Array(10).fill('/')], BURST);

    begun[0]?.res.end('elsewhere');

    await waitFor('all answers', () => {
      for (const { res } of begun) if (!res.writableEnded) res.end('here');
      return connection.answers().length === 11;
    });
    const statuses = connection.answers().map((answer) => answer.slice(0, 3));
    expect(statuses).toEqual([...Array(9).fill('200'), '503', '503']);
  });
});

describe('a request that waits for something outside', () => {
  it('has no place meanwhile', async () => {
    const { whoseBegan, sendMany } = await start({ max: 1, connections: 1 });

    await sendMany(3, BURST, { path: '/elsewhere' });

    await waitFor('all to begin', () => whoseBegan().length === 3);
  });
});
