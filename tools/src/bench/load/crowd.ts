import { connect, type Socket } from 'node:net';
import { percentile } from './load.js';

/** The senders of the requests of one team. */
export interface Senders {
  readonly team: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The address of this machine from which they send. */
  readonly address: string;
  readonly connections: number;
  /** The rate of requests, whatever their outcome. Null: each connection sends the next one as soon as it is answered. */
  readonly perSecond: number | null;
}

export interface Served {
  readonly acceptedPerSecond: number;
  readonly refusedPerSecond: number;
  /** The latencies of accepted requests. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The load continues for a moment, until the last request that counts is answered. */
const REST_MS = 300;

interface Tally {
  readonly durations: number[];
  refused: number;
}

/**
 * Sends the requests of all teams concurrently, over bare sockets: a client that spends more on each request than the server
 * spends to refuse it could not send enough of them.
 *
 * @returns the outcomes by team, after a moment in which nothing is counted
 */
export async function crowd(all: readonly Senders[], seconds: number, warmUpSeconds = 2): Promise<Map<string, Served>> {
  const startedAt = performance.now() + warmUpSeconds * 1_000;
  const until = startedAt + seconds * 1_000;
  const tallies = await Promise.all(
    all.map(async (senders) => [senders.team, await send(senders, startedAt, until)] as const),
  );
  return new Map(tallies.map(([team, tally]) => [team, servedOf(tally, seconds)]));
}

function servedOf({ durations, refused }: Tally, seconds: number): Served {
  durations.sort((one, other) => one - other);
  return {
    acceptedPerSecond: durations.length / seconds,
    refusedPerSecond: refused / seconds,
    p50Ms: percentile(durations, 0.5) ?? Number.NaN,
    p99Ms: percentile(durations, 0.99) ?? Number.NaN,
  };
}

async function send(senders: Senders, from: number, until: number): Promise<Tally> {
  const tally: Tally = { durations: [], refused: 0 };
  const idle: Connection[] = [];
  const isPaced = senders.perSecond !== null;
  const onAnswer = (connection: Connection, status: number, since: number): void => {
    const now = performance.now();
    if (since >= from && since < until) {
      if (status === 503) tally.refused += 1;
      else if (status < 300) tally.durations.push(now - since);
      else throw new Error(`A request was answered ${status}`);
    }
    if (now >= until + REST_MS) connection.end();
    else if (isPaced) idle.push(connection);
    else connection.send(now);
  };
  const connections = await Promise.all(
    Array.from({ length: senders.connections }, () => openConnection(senders, onAnswer)),
  );
  if (!isPaced) for (const connection of connections) connection.send(performance.now());
  else {
    idle.push(...connections);
    // A team without a free connection skips its request.
    await pace(senders.perSecond as number, until + REST_MS, () => idle.shift()?.send(performance.now()));
    for (const connection of connections) connection.end();
  }
  await Promise.all(connections.map(({ closed }) => closed));
  return tally;
}

/** Sends at random moments, as the requests of many clients come. */
function pace(perSecond: number, until: number, send: () => void): Promise<void> {
  return new Promise((resolve) => {
    let next = performance.now();
    const tick = (): void => {
      const now = performance.now();
      while (next <= now && next < until) {
        send();
        next += (-Math.log(1 - Math.random()) * 1_000) / perSecond;
      }
      if (next >= until) resolve();
      else setTimeout(tick, 1);
    };
    tick();
  });
}

interface Connection {
  send(since: number): void;
  end(): void;
  readonly closed: Promise<void>;
}

async function openConnection(
  { url, headers, address }: Senders,
  onAnswer: (connection: Connection, status: number, since: number) => void,
): Promise<Connection> {
  const { hostname, port, pathname } = new URL(url);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${lines.join('')}\r\n`;
  let since = 0;
  let waits = false;
  let ended = false;
  let socket: Socket;
  let left = '';
  let allClosed: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    allClosed = resolve;
  });
  const open = (): void => {
    left = '';
    socket = connect({ host: hostname, port: Number(port), localAddress: address });
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', take);
    socket.on('error', () => undefined);
    // The service may close a connection after an answer. Then the next request needs a new one.
    socket.once('close', () => {
      if (ended) allClosed();
      else open();
      if (!ended && waits) socket.write(request);
    });
  };
  const take = (text: string): void => {
    left += text;
    const head = left.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = /content-length: (\d+)/i.exec(left)?.[1];
    if (left.length < head + 4 + Number(length)) return;
    const status = Number(left.slice(9, 12));
    const isLast = /connection: close/i.test(left.slice(0, head));
    left = '';
    waits = false;
    if (isLast) {
      socket.destroy();
      socket.removeAllListeners('close');
      open();
    }
    onAnswer(connection, status, since);
  };
  const connection: Connection = {
    closed,
    send(at) {
      since = at;
      waits = true;
      socket.write(request);
    },
    end() {
      ended = true;
      socket.destroy();
      if (socket.closed) allClosed();
    },
  };
  open();
  return connection;
}
