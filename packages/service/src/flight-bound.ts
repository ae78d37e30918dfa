import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers';
import type { Request, RequestHandler, Response } from 'express';
import { peerOf } from './connection-bounds.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import { refusedConnections } from './refused-connections.js';
import { type Flight, workInFlight } from './work-in-flight.js';

export interface FlightBoundOptions<E extends Error = Error> {
  /** Requests that are taken on while more come than can be served; eight times as many are in a burst. */
  readonly max: number;
  /** Connections to the database. No more requests are worked on at once: more would wait for connections, out of turn. */
  readonly connections: number;
  /**
   * What a request says about who sends it, such as its token; null for nothing. Nobody has looked yet whether it is true:
   * what was found the last time is remembered by it.
   */
  readonly claimOf: (req: Request) => string | null;
  /** Makes the API's own error, with status 503. Called once. */
  readonly refuse: (sentence: string, retryAfterSeconds: number) => E;
  /** Answers with it, past everything that other errors go through: a refusal has to be little work. */
  readonly send: (res: Response, error: E) => void;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Monotonic, in ms. Default: real time. */
  readonly now?: () => number;
}

export interface FlightBound {
  /** Takes a request on or refuses it, before anything is done for it. */
  readonly check: RequestHandler;
  /** Once the sender is known: counts the request as theirs, and remembers by what they are known. */
  belongsTo(res: Response, owner: string): void;
}

/** A burst is that many times what is worked on while too much comes. */
const BURST_TIMES = 8;
const RETRY_SECONDS = 1;
/** What has waited so long for its turn is refused: the work before it does not get on. */
const TURN_MS_MAX = 5_000;
const SENTENCE = 'The service is overloaded. Send the request again after the time in Retry-After.';
const CLAIMS_MAX = 10_000;
const LOG_MS = 10_000;
/** Whoever watches the process asks these, and takes it away when they do not answer. */
const isOfHealth = /^\/(healthz|readyz)\/?$/;

const flights = new WeakMap<ServerResponse, Flight>();

/**
 * Does not count a request as work in flight while it waits for something that has bounds of its own: a turn, the client, an
 * answer from elsewhere.
 *
 * @returns counts it again
 */
export const setAside = (res: ServerResponse): (() => void) => flights.get(res)?.rest() ?? (() => undefined);

/** Bounds the work in flight of a process; see `workInFlight`. */
export function flightBound<E extends Error>(options: FlightBoundOptions<E>): FlightBound {
  const { max, connections, claimOf, refuse, send, log, metrics, now = () => performance.now() } = options;
  const atOnce = Math.min(max, connections);
  const work = workInFlight({ max, burst: max * BURST_TIMES, atOnce }, now, setImmediate);
  const known = rememberedOwners();
  const claims = new WeakMap<Response, string>();
  const noteRefusal = refusalNotes(log, metrics);
  metrics.gauge({
    name: 'corral_requests_in_flight_count',
    help: 'Requests that are worked on, without those that wait',
    collect() {
      this.set(work.count());
    },
  });
  const busy = refuse(SENTENCE, RETRY_SECONDS);
  const unread = refusedConnections(now);
  const noteRefused = (req: Request, res: Response, owner: string): void => {
    noteRefusal(work.count());
    const { socket } = req;
    // A proxy's connection is that of many clients.
    if (isTrustedProxy(req)) return;
    // Only then does Node leave off reading by itself.
    res.once('finish', () => setImmediate(() => req.complete && unread.rest(socket, owner)));
  };

  return {
    check(req, res, next) {
      if (isOfHealth.test(req.path)) return next();
      const claim = claimOf(req);
      const digest = claim === null ? null : hash('sha256', claim, 'base64');
      if (digest !== null) claims.set(res, digest);
      const owner = known.find(digest) ?? `address ${peerOf(req.ip ?? '')}`;
      const flight = work.begin(owner, unread.hasWaited(req.socket));
      if (flight === null) {
        noteRefused(req, res, owner);
        return send(res, busy);
      }
      flights.set(res, flight);
      // Nothing is left to do but to wait for a client that reads slowly, or is gone.
      res.once('prefinish', flight.end);
      res.once('close', flight.end);
      let late: NodeJS.Timeout | undefined;
      const hasStarted = flight.start(() => {
        clearTimeout(late);
        next();
      });
      if (hasStarted) return;
      late = setTimeout(() => {
        flight.end();
        noteRefused(req, res, owner);
        send(res, busy);
      }, TURN_MS_MAX);
      res.once('close', () => clearTimeout(late));
    },
    belongsTo(res, owner) {
      const claim = claims.get(res);
      if (claim !== undefined) known.remember(claim, owner);
      if (flights.get(res)?.moveTo(owner) !== false) return;
      noteRefused(res.req, res, owner);
      throw busy;
    },
  };
}

function isTrustedProxy({ app, socket }: Request): boolean {
  const isTrusted: (address: string, hop: number) => boolean = app.get('trust proxy fn');
  return isTrusted(socket.remoteAddress ?? '', 0);
}

/** Whose the last requests were that said the same about themselves. */
function rememberedOwners() {
  const owners = new Map<string, string>();
  return {
    find: (claim: string | null): string | undefined => (claim === null ? undefined : owners.get(claim)),
    remember(claim: string, owner: string): void {
      if (owners.get(claim) === owner) return;
      owners.delete(claim);
      owners.set(claim, owner);
      const [oldest] = owners.size > CLAIMS_MAX ? owners.keys() : [];
      if (oldest !== undefined) owners.delete(oldest);
    },
  };
}

/** A line for each would be more work than the refusal. */
function refusalNotes(log: Log, metrics: Metrics): (inFlight: number) => void {
  const refused = metrics.counter({
    name: 'corral_requests_refused_total',
    help: 'Requests that were refused because too much was in flight',
  });
  let loggedAt = Number.NEGATIVE_INFINITY;
  let since = 0;
  return (inFlight) => {
    refused.inc();
    since += 1;
    if (performance.now() - loggedAt < LOG_MS) return;
    log.warn('requests refused: too much in flight', { refused: since, inFlight });
    loggedAt = performance.now();
    since = 0;
  };
}
