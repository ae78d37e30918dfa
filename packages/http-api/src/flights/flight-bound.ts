import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers';
import { addressOf } from '@corral/rate-limit';
import type { Log, Metrics } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';
import { type ApiError, type ErrorShape, RequestFault, sendError } from '../errors.js';
import { refusedConnections } from './refused-connections.js';
import { type Flight, workInFlight } from './work-in-flight.js';

export interface FlightBoundOptions<E extends ApiError> {
  /** Requests that are taken on while more come than can be served; eight times as many are in a burst. */
  readonly max: number;
  /** Connections to the database. No more requests are worked on at once: more would wait for connections, out of turn. */
  readonly connections: number;
  /**
   * What a request says about who sends it, such as its token; null for nothing. Nobody has looked yet whether it is true:
   * what was found the last time is remembered by it.
   */
  readonly claimOf: (req: Request) => string | null;
  /** Refusals are sent in this shape directly, without the error handler, because a refusal must be cheap. */
  readonly errors: ErrorShape<E>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Monotonic, in ms. Default: real time. */
  readonly now?: () => number;
}

export interface FlightBound {
  /** Takes a request on or refuses it, before anything is done for it. */
  readonly check: RequestHandler;
  /**
   * Counts a request as its owner's, once that is known, and remembers the owner by the request's claim.
   *
   * @param ownerOf null for a request without a known owner
   */
  countAs(ownerOf: (req: Request, res: Response) => string | null): RequestHandler;
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
export function flightBound<E extends ApiError>(options: FlightBoundOptions<E>): FlightBound {
  const { max, connections, claimOf, errors, log, metrics, now = () => performance.now() } = options;
  const concurrency = Math.min(max, connections);
  const work = workInFlight({ max, burst: max * BURST_TIMES, concurrency }, now, setImmediate);
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
  const busy = errors.ofFault(new RequestFault('overloaded', SENTENCE, RETRY_SECONDS));
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
      const owner = known.find(digest) ?? `address ${addressOf(req)}`;
      const flight = work.begin(owner, unread.hasWaited(req.socket));
      if (flight === null) {
        noteRefused(req, res, owner);
        return sendError(res, busy, errors);
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
        sendError(res, busy, errors);
      }, TURN_MS_MAX);
      res.once('close', () => clearTimeout(late));
    },
    countAs: (ownerOf) => (req, res, next) => {
      const owner = ownerOf(req, res);
      if (owner === null) return next();
      const claim = claims.get(res);
      if (claim !== undefined) known.remember(claim, owner);
      if (flights.get(res)?.moveTo(owner) !== false) return next();
      noteRefused(req, res, owner);
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
