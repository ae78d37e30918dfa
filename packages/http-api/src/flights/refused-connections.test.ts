import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createMetrics, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import express from 'express';
import { plainErrors } from '../../test/plain-errors.js';
import { flightBound } from './flight-bound.js';
import { refusedConnections } from './refused-connections.js';

/** A connection of which all is known that happens to it. */
function connection() {
  const seen = { paused: 0, resumed: 0, destroyed: false, onResume: (): void => undefined };
  const socket = {
    pause: () => {
      seen.paused += 1;
    },
    resume: () => {
      seen.resumed += 1;
      // What was sent meanwhile is read before anything else happens.
      queueMicrotask(seen.onResume);
    },
    get destroyed() {
      return seen.destroyed;
    },
  } as unknown as Socket;
  return { socket, seen };
}
const many = (count: number) => Array.from({ length: count }, connection);

describe('connections with refused requests', () => {
  it('are read again a millisecond after each other, so few are read concurrently', () => {
    const { rest } = refusedConnections(() => 0);

    const few = many(4);
    for (const { socket } of few) rest(socket, 'acme');
    expect(few.map(({ seen }) => seen.paused)).toEqual([0, 0, 0, 0]);

    const more = many(3);
    for (const { socket } of more) rest(socket, 'acme');
    expect(more.map(({ seen }) => seen.paused)).toEqual([1, 1, 1]);
  });

  it('do not wait for those of another owner', () => {
    const { rest } = refusedConnections(() => 0);
    for (const { socket } of many(500)) rest(socket, 'acme');
    const other = connection();

    rest(other.socket, 'globex');

    expect(other.seen.paused).toBe(0);
  });

  it('do not wait for requests refused much earlier', () => {
    let now = 0;
    const { rest } = refusedConnections(() => now);
    for (const { socket } of many(500)) rest(socket, 'acme');
    const later = connection();

    now = 500;
    rest(later.socket, 'acme');

    expect(later.seen.paused).toBe(0);
  });

  it('are all read again within the second that Retry-After states, regardless of their number', async () => {
    const started = performance.now();
    const { rest } = refusedConnections(() => started);
    const flood = many(3_000);
    for (const { socket } of flood) rest(socket, 'acme');

    await waitFor('all to be read', () => flood.every(({ seen }) => seen.resumed === seen.paused));

    expect(flood.filter(({ seen }) => seen.paused === 1).length).toBeGreaterThan(2_900);
  });

  it('distinguish what was sent while they were not read from what is sent later', async () => {
    const { rest, hasWaited } = refusedConnections(() => 0);
    const flood = many(20);
    const read: boolean[] = [];
    for (const { socket, seen } of flood) {
      seen.onResume = () => void read.push(hasWaited(socket));
      rest(socket, 'acme');
    }

    await waitFor('all to be read', () => flood.every(({ seen }) => seen.resumed === seen.paused));
    await waitFor('the turn to end', () => !flood.some(({ socket }) => hasWaited(socket)));

    expect(read.length).toBeGreaterThan(10);
    expect(new Set(read)).toEqual(new Set([true]));
  });

  it('are ignored when they are closed', () => {
    const { rest } = refusedConnections(() => 0);
    for (const { socket } of many(10)) rest(socket, 'acme');
    const gone = connection();
    gone.seen.destroyed = true;

    rest(gone.socket, 'acme');

    expect(gone.seen.paused).toBe(0);
  });
});

/** A server that works on nothing to its end, so that it soon refuses everybody, at a clock that stands still. */
async function startCrowded(trustProxy: string | false) {
  const app = express();
  app.set('trust proxy', trustProxy);
  const { check } = flightBound({
    max: 1,
    connections: 1,
    hintOf: () => null,
    errors: plainErrors,
    log: silentLog,
    now: () => 0,
    metrics: createMetrics({ service: 'test' }),
  });
  let checked = 0;
  const counted: typeof check = (req, res, next) => {
    check(req, res, next);
    checked += 1;
  };
  app.use(counted, () => undefined);
  const server = createServer(app);
  const pauses: number[] = [];
  server.on('connection', (socket) => {
    const at = pauses.push(0) - 1;
    const pause = socket.pause.bind(socket);
    socket.pause = () => {
      pauses[at] = (pauses[at] ?? 0) + 1;
      return pause();
    };
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    pauses,
    countChecked: () => checked,
    ask: (agent: Agent, then: (status: number) => void) =>
      get({ port, agent, host: '127.0.0.1' }, (answer) => then(answer.resume().statusCode as number)).on(
        'error',
        () => undefined,
      ),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe('a connection whose requests are refused repeatedly', () => {
  it.each([
    ['is left unread for a while when it is a client’s own', false, true],
    ['is always read when it is that of a trusted proxy, which carries many clients', 'loopback', false],
  ] as const)('%s', async (_what, trustProxy, isPaused) => {
    const crowded = await startCrowded(trustProxy);
    const [others, own] = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true, maxSockets: 1 })];
    const statuses: number[] = [];
    // As many as a burst is are taken on, and none of them is answered.
    for (let sent = 0; sent < 8; sent += 1) crowded.ask(others, () => undefined);
    await waitFor('the burst', () => crowded.countChecked() === 8);

    for (let sent = 0; sent < 10; sent += 1) crowded.ask(own, (status) => statuses.push(status));
    await waitFor('all to be refused', () => statuses.length === 10);

    expect(statuses).toEqual(Array(10).fill(503));
    expect(crowded.pauses.some((count) => count > 0)).toBe(isPaused);
    for (const agent of [others, own]) agent.destroy();
    crowded.close();
  });
});
