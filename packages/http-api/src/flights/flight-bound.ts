import { setImmediate } from 'node:timers';
import { addressOf } from '@corral/admission';
import type { Log, Metrics } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';
import { type ApiError, type ErrorShape, RequestFault, sendError } from '../errors.js';
import { refusedConnections } from './refused-connections.js';
import { type Flight, workInFlight } from './work-in-flight.js';

export interface FlightBoundOptions<E extends ApiError> {
  /** Maximum number of accepted requests under sustained overload. Bursts may have eight times as many. */
  readonly max: number;
  /**
   * Number of database connections. At most this many requests are processed concurrently: more would only wait for
   * connections, in no fair order.
   */
  readonly connections: number;
  /**
   * An unverified hint about the sender of a request, such as the hash of its token; null for none. It is asked for twice. The
   * owner found by an earlier request with the same hint is assumed. It is kept in memory, so it must be no secret.
   */
  readonly hintOf: (req: Request) => string | null;
  /** Refusals have this shape. They bypass the error handler, because a refusal must be cheap. */
  readonly errors: ErrorShape<E>;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Monotonic clock in ms. Default: real time. */
  readonly now?: () => number;
}

export interface FlightBound {
  /** Accepts or refuses a request before any other work is done for it. */
  readonly check: RequestHandler;
  /**
   * Attributes a request to its owner once that is known, and remembers the owner by the request's hint.
   *
   * @param ownerOf null for a request without a known owner
   */
  countAs(ownerOf: (req: Request, res: Response) => string | null): RequestHandler;
  /** Call for each new connection. While more arrive, they are accepted before crowds of requests are worked on. */
  readonly accepted: () => void;
}

/** Size of a burst, as a multiple of `max`. */
const BURST_TIMES = 8;
const RETRY_SECONDS = 1;
/** Longest wait for a turn. A longer one means that the work in front makes no progress. */
const TURN_MS_MAX = 5_000;
const SENTENCE = 'The service is overloaded. Send the request again after the time in Retry-After.';
const CLAIMS_MAX = 10_000;
const LOG_MS = 10_000;
/** Probes must get an answer, or the platform restarts the process. */
const isOfHealth = /^\/(healthz|readyz)\/?$/;

/**
 * Stops counting a request as in flight while it waits for something with its own limits: a turn, the client, an outside call.
 *
 * @returns a function that resumes counting
 */
export const setAside = (res: Pick<Response, 'locals'>): (() => void) => flightOf(res)?.rest() ?? (() => undefined);

const flightOf = ({ locals }: Pick<Response, 'locals'>): Flight | undefined => locals.flight;

/** Limits the work in flight of a process; see `workInFlight`. */
export function flightBound<E extends ApiError>(options: FlightBoundOptions<E>): FlightBound {
  const { max, connections, hintOf, errors, log, metrics, now = () => performance.now() } = options;
  const concurrency = Math.min(max, connections);
  const work = workInFlight({ max, burst: max * BURST_TIMES, concurrency }, now, setImmediate);
  const known = rememberedOwners();
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
    // A proxy's connection carries requests of many clients.
    if (isTrustedProxy(req)) return;
    // Only then does Node.js stop reading by itself.
    res.once('finish', () => setImmediate(() => req.complete && unread.rest(socket, owner)));
  };

  return {
    accepted: work.accepted,
    check(req, res, next) {
      if (isOfHealth.test(req.path)) return next();
      const hint = hintOf(req);
      const owner = known.find(hint) ?? `address ${addressOf(req)}`;
      const flight = work.begin(owner, unread.hasWaited(req.socket));
      if (flight === null) {
        noteRefused(req, res, owner);
        return sendError(res, busy, errors);
      }
      res.locals.flight = flight;
      // Nothing is left to do except to wait for a client that reads slowly or is gone.
      res.on('prefinish', flight.end);
      res.on('close', flight.end);
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
      const hint = hintOf(req);
      if (hint !== null) known.remember(hint, owner);
      if (flightOf(res)?.moveTo(owner) !== false) return next();
      noteRefused(req, res, owner);
      throw busy;
    },
  };
}

function isTrustedProxy({ app, socket }: Request): boolean {
  const isTrusted: (address: string, hop: number) => boolean = app.get('trust proxy fn');
  return isTrusted(socket.remoteAddress ?? '', 0);
}

/** Owners of recent requests, by hint. */
function rememberedOwners() {
  const owners = new Map<string, string>();
  return {
    find: (hint: string | null): string | undefined => (hint === null ? undefined : owners.get(hint)),
    remember(hint: string, owner: string): void {
      if (owners.get(hint) === owner) return;
      owners.delete(hint);
      owners.set(hint, owner);
      const [oldest] = owners.size > CLAIMS_MAX ? owners.keys() : [];
      if (oldest !== undefined) owners.delete(oldest);
    },
  };
}

/** Counted instead of logged: a log line would cost more than the refusal. */
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
