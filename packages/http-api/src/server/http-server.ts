import { createServer, IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Express } from 'express';
import { boundConnections, type ConnectionBounds } from './connection-bounds.js';

/** Answers a request that is no HTTP: write the whole answer and end the socket. */
export type ClientErrorRenderer = (error: NodeJS.ErrnoException, socket: Socket) => void;

const REQUEST_MS = 15_000;

export interface HttpTimeouts {
  /** For all headers of a request. Default: 10,000. */
  headersMs?: number;
  /** For a whole request with its body; not less than for the headers. Default: 15,000. */
  requestMs?: number;
  /** Of an unused connection; more than the 60 s that load balancers keep theirs. Default: 65,000. */
  keepAliveMs?: number;
  /** Without any byte in either direction while an answer is due: a client that does not read. Default: 120,000. */
  idleMs?: number;
  /** For a client to read the last answer while it still sends; not more than for a whole request. Default: 5,000. */
  lingerMs?: number;
}

/** More than the largest body that is taken: a client that sends all of it before it reads gets to read. */
const LINGER_BYTES = 2 * 1_048_576;

/**
 * Constructors whose prototypes already are those of the app. Express sets them on every request and response, which
 * on Node.js 20 and 22 makes each of them slow for the engine; when they are right from the start nothing changes.
 */
function constructorsOf(app: Express) {
  // Plain functions, for a class would bring a prototype of its own; `.call`, for Reflect.construct is slower.
  function AppRequest(this: IncomingMessage, socket: Socket): void {
    (IncomingMessage as unknown as typeof AppRequest).call(this, socket);
  }
  AppRequest.prototype = app.request;
  function AppResponse(this: ServerResponse, req: IncomingMessage, options?: object): void {
    (ServerResponse as unknown as typeof AppResponse).call(this, req, options);
  }
  AppResponse.prototype = app.response;
  return {
    IncomingMessage: AppRequest as unknown as typeof IncomingMessage,
    ServerResponse: AppResponse as unknown as typeof ServerResponse,
  };
}

export interface DrainableServer<S extends Server = Server> {
  readonly server: S;
  /** From now on every answer ends its connection. New connections are still taken. */
  announceEnd(): void;
  /**
   * Accepts no new connection, closes unused ones at once, lets requests in flight end, and cuts what is left after
   * `graceMs`.
   *
   * @returns the number of requests that were cut
   */
  drain(graceMs: number): Promise<number>;
}

export interface HttpServerOptions {
  readonly timeouts?: HttpTimeouts | undefined;
  /** Connections from proxies that the app trusts count for none of the addresses. Default: as many as there come. */
  readonly connections?: ConnectionBounds | undefined;
  /** Default: Node's bare status line. */
  readonly onClientError?: ClientErrorRenderer | undefined;
}

/** An HTTP server for the app with bounds against slow clients. Does not listen yet. */
export function buildHttpServer(app: Express, options: HttpServerOptions = {}): DrainableServer {
  return serveApp(createServer(serverOptions(app, options)), app, options);
}

/** What every server of an app is made with, whatever it speaks below HTTP. */
export function serverOptions(app: Express, { timeouts = {} }: HttpServerOptions): ServerOptions {
  const { headersMs = 10_000, requestMs = REQUEST_MS, keepAliveMs = 65_000 } = timeouts;
  return {
    ...constructorsOf(app),
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    // How often the first two are looked at: the default of 30 s would let a slow client stay that much longer.
    connectionsCheckingInterval: Math.min(1_000, headersMs, requestMs),
  };
}

/** Makes a server that was made with `serverOptions` serve the app. */
export function serveApp<S extends Server>(server: S, app: Express, options: HttpServerOptions): DrainableServer<S> {
  const { timeouts: { idleMs = 120_000, requestMs = REQUEST_MS, lingerMs = 5_000 } = {} } = options;
  const { connections, onClientError } = options;
  const lingering = { ms: Math.min(lingerMs, requestMs), bytes: LINGER_BYTES };
  const inFlight = new Set<ServerResponse>();
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
    res.once('close', () => {
      inFlight.delete(res);
      // An answer that had begun before could not announce the end of its connection.
      if (draining) setImmediate(() => server.closeIdleConnections());
    });
  });
  server.on('request', app);
  if (onClientError !== undefined) {
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const answered = [...inFlight].some((res) => res.socket === socket && res.headersSent);
      if (error.code === 'ECONNRESET' || !socket.writable || answered) socket.destroy();
      else {
        onClientError(error, socket as Socket);
        linger(socket as Socket, lingering);
      }
    });
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
    // Answers that were cut learn of it after their connections: what they still log belongs before the end.
    await nextTurn();
    return cut;
  };
  return { server, announceEnd, drain };
}

function closeAfter(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}

interface LingerBounds {
  readonly ms: number;
  readonly bytes: number;
}

/**
 * Makes the connection linger when its last answer goes out before the request is read: to close it with bytes unread, or
 * still on their way, is a reset, by which clients lose the answer that they have not read yet (RFC 9112, 9.6).
 */
function lingerAfterAnswer(req: IncomingMessage, bounds: LingerBounds): void {
  const { socket } = req;
  // Node closes the connection of a last answer by this method, and has no setting for how.
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
 * For a connection whose writing side has ended: throws away what still comes, past any parser, until the client ends it,
 * too, and cuts it at the first of the bounds. It stays among those that are counted meanwhile.
 */
function linger(socket: Socket, { ms, bytes }: LingerBounds): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
  let left = bytes;
  const discard = (): void => {
    // The parser takes its bytes from the socket's handle until somebody else listens for data.
    socket.removeAllListeners('data');
    socket.on('data', (piece: Buffer) => {
      left -= piece.length;
      if (left < 0) socket.destroy();
    });
  };
  if (socket.isPaused()) {
    // A request that nobody reads has stopped its parser, and what starts it again works only while it has the handle.
    socket.once('resume', discard);
    socket.resume();
  } else discard();
}
