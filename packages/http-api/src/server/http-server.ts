import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Server as NetServer, type Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { peerOf } from '@corral/admission';
import type { Metrics } from '@corral/service';
import type { Express } from 'express';

/** Answers a malformed request: writes the whole answer and ends the socket. */
export type ClientErrorRenderer = (error: NodeJS.ErrnoException, socket: Socket) => void;

const REQUEST_MS = 15_000;

export interface HttpTimeouts {
  /** Time for all headers of a request. Default: 10,000. */
  headersMs?: number;
  /** Time for a whole request with its body; at least that of the headers. Default: 15,000. */
  requestMs?: number;
  /** Time that an idle connection stays open; longer than the 60 s of load balancers. Default: 65,000. */
  keepAliveMs?: number;
  /** Time without any byte in either direction while an answer is being sent: a client that does not read. Default: 120,000. */
  idleMs?: number;
  /** Time for a client to read the last answer while it still sends; at most that of a whole request. Default: 5,000. */
  lingerMs?: number;
}

/** Larger than the largest accepted body: clients that send everything before they read still get their answer. */
const LINGER_BYTES = 2 * 1_048_576;

export interface DrainableServer<S extends Server = Server> {
  readonly server: S;
  /** Every answer closes its connection from now on. New connections are still accepted. */
  announceEnd(): void;
  /**
   * Accepts no new connections, closes idle ones, lets requests in flight end, and cuts the remaining ones after `graceMs`.
   *
   * @returns the number of requests that were cut
   */
  drain(graceMs: number): Promise<number>;
}

export interface HttpServerOptions {
  readonly timeouts?: HttpTimeouts | undefined;
  /** Connections of trusted proxies are not counted by address. Default: unlimited. */
  readonly connections?: ConnectionBounds | undefined;
  /** Default: the status line of Node.js. */
  readonly onClientError?: ClientErrorRenderer | undefined;
}

/** Creates an HTTP server for the app with limits for slow clients. Does not listen yet. */
export function buildHttpServer(app: Express, options: HttpServerOptions = {}): DrainableServer {
  return serveApp(createServer(serverOptions(options)), app, options);
}

/** Options of every server, whatever the protocol below HTTP. */
export function serverOptions({ timeouts = {} }: HttpServerOptions): ServerOptions {
  const { headersMs = 10_000, requestMs = REQUEST_MS, keepAliveMs = 65_000 } = timeouts;
  return {
    // The app refuses requests without a host, in its own words.
    requireHostHeader: false,
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    // Check interval of the first two. With the default of 30 s a slow client could stay that much longer.
    connectionsCheckingInterval: Math.min(1_000, headersMs, requestMs),
  };
}

/** Makes a server that was created with `serverOptions` serve the app. */
export function serveApp<S extends Server>(server: S, app: Express, options: HttpServerOptions): DrainableServer<S> {
  const { timeouts: { idleMs = 120_000, requestMs = REQUEST_MS, lingerMs = 5_000 } = {} } = options;
  const { connections, onClientError } = options;
  const lingering = { ms: Math.min(lingerMs, requestMs), bytes: LINGER_BYTES };
  const inFlight = new Set<ServerResponse>();
  keepWhatIsBeingSent(server, inFlight);
  let isEnding = false;
  let draining = false;

  server.setTimeout(idleMs, (socket) => socket.destroy());
  if (connections !== undefined) {
    const isTrusted: (address: string, hop: number) => boolean = app.get('trust proxy fn');
    boundConnections(server, connections, (address) => isTrusted(address, 0));
  }
  server.on('request', (req, res) => {
    inFlight.add(res);
    lingerAfterAnswer(req, lingering);
    if (isEnding) closeAfter(res);
    res.on('close', () => {
      inFlight.delete(res);
      // An answer whose headers were sent could not announce the end of its connection.
      if (draining) setImmediate(() => server.closeIdleConnections());
    });
  });
  const handle = app as unknown as (req: IncomingMessage, res: ServerResponse, giveBack?: () => void) => void;
  const refuse = (error: NodeJS.ErrnoException, socket: Socket): void => {
    const answered = [...inFlight].some((res) => res.socket === socket && res.headersSent);
    if (error.code === 'ECONNRESET' || !socket.writable || answered) socket.destroy();
    else {
      onClientError?.(error, socket);
      linger(socket, lingering);
    }
  };
  // Express gives a request back whose target it cannot parse. Its own answer would be a page.
  const unparsed = ({ socket }: IncomingMessage) => onClientError && (() => refuse(new Error('No URL'), socket));
  server.on('request', (req, res) => handle(req, res, unparsed(req)));
  // The app refuses what it does not know, in its own words.
  server.on('checkExpectation', (req, res) => void server.emit('request', req, res));
  if (onClientError !== undefined) {
    server.on('clientError', (error, socket) => refuse(error, socket as Socket));
    server.on('connect', (_req, socket) =>
      refuse(Object.assign(new Error('No proxy'), { code: 'CONNECT' }), socket as Socket),
    );
  }

  const announceEnd = (): void => {
    isEnding = true;
    for (const res of inFlight) closeAfter(res);
  };
  const drain = async (graceMs: number): Promise<number> => {
    announceEnd();
    draining = true;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    let cut = 0;
    const timer = setTimeout(() => {
      cut = inFlight.size;
      server.closeAllConnections();
    }, graceMs);
    await closed;
    clearTimeout(timer);
    // Cut answers learn of it after their connections; their log lines must come before the end.
    await immediate();
    return cut;
  };
  return { server, announceEnd, drain };
}

/**
 * Node.js counts a connection as idle once the handler has ended its answer, even if a slow client has not received all of it. It also
 * closes idle connections itself, when the server closes.
 */
function keepWhatIsBeingSent(server: Server, inFlight: ReadonlySet<ServerResponse>): void {
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    // The end of such an answer asks again.
    const isSending = [...inFlight].some((res) => res.writableEnded && !res.writableFinished);
    if (!isSending) closeIdle();
  };
}

function closeAfter(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}

interface LingerBounds {
  readonly ms: number;
  readonly bytes: number;
}

/**
 * Keeps the connection open for a while when its last answer is sent before the whole request was read. Closing it with unread
 * bytes would send a reset, and the client would lose the answer (RFC 9112, 9.6).
 */
function lingerAfterAnswer(req: IncomingMessage, bounds: LingerBounds): void {
  const { socket } = req;
  // Node.js closes the connection of a last answer with this method and has no setting for it.
  socket.destroySoon = () => {
    delete (socket as Partial<Socket>).destroySoon;
    if (req.complete) {
      socket.destroySoon();
      return;
    }
    socket.end();
    linger(socket, bounds);
  };
}

/**
 * Discards what still arrives on a connection whose writing side has ended, until the client closes it, or until the first
 * limit. It stays counted meanwhile.
 */
function linger(socket: Socket, { ms, bytes }: LingerBounds): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
  let left = bytes;
  const discard = (): void => {
    // The parser reads from the socket's handle until there is another listener for data.
    socket.removeAllListeners('data');
    socket.on('data', (piece: Buffer) => {
      left -= piece.length;
      if (left < 0) socket.destroy();
    });
  };
  if (socket.isPaused()) {
    // An unread request has paused its parser, and resuming works only while the parser has the handle.
    socket.once('resume', discard);
    socket.resume();
  } else discard();
}

/** Maximum numbers of open connections. */
export interface ConnectionBounds {
  readonly max: number;
  /** The most connections from one IPv4 address or one IPv6 /64, which is what a household or a host gets. */
  readonly perAddressMax: number;
}

/**
 * Closes connections beyond the bounds immediately, before reading from them.
 *
 * @param isTrustedProxy connections of proxies carry many clients and are not counted by address
 */
function boundConnections(
  server: NetServer,
  { max, perAddressMax }: ConnectionBounds,
  isTrustedProxy: (address: string) => boolean,
): void {
  const open = new Map<string, number>();
  server.maxConnections = max;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    // Absent after the client has disconnected.
    if (remoteAddress === undefined || isTrustedProxy(remoteAddress)) return;
    const peer = peerOf(remoteAddress);
    const count = open.get(peer) ?? 0;
    if (count >= perAddressMax) {
      socket.destroy();
      return;
    }
    open.set(peer, count + 1);
    socket.once('close', () => {
      const left = (open.get(peer) ?? 1) - 1;
      if (left > 0) open.set(peer, left);
      else open.delete(peer);
    });
  });
}

const PROBE_MS = 1_000;

/**
 * Measures how long new connections wait for the process: once a second it opens one itself, says nothing, and waits until the server
 * has accepted and closed it. A request is logged and timed only from its first byte, so nothing else shows this wait.
 *
 * @param servers those that listen
 * @returns a function that stops it
 */
export function probeConnections(servers: readonly Server[], metrics: Metrics): () => void {
  const seconds = metrics.histogram({
    name: 'corral_connection_wait_seconds',
    help: 'Time until a new connection was accepted and closed, of one that the process opens to itself every second',
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const stops = servers.map((server) => probe(server, (waited) => seconds.observe(waited)));
  return () => {
    for (const stop of stops) stop();
  };
}

function probe(server: Server, observe: (seconds: number) => void): () => void {
  const { address, port } = server.address() as AddressInfo;
  const host = { '::': '::1', '0.0.0.0': '127.0.0.1' }[address] ?? address;
  let isWaiting = false;
  const timer = setInterval(() => {
    if (isWaiting) return;
    isWaiting = true;
    const startedAt = performance.now();
    connect({ host, port })
      // A server beyond its maximum of connections may reset it.
      .on('error', () => undefined)
      .once('close', () => {
        isWaiting = false;
        observe((performance.now() - startedAt) / 1_000);
      })
      .resume()
      .end();
  }, PROBE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
