import type { Socket } from 'node:net';
import {
  fairQueue,
  NotAdmitted,
  narrowScope,
  openScope,
  type RequestScope,
  type ScopeOptions,
  siteOf,
} from '@corral/admission';
import type { Log, Metrics } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { type ApiError, clientGone, type ErrorShape, RequestFault, sendError } from './errors.js';

/** The scope of the request that is answered, for everything that works for it and knows no Express. */
export function scopeOf(res: Response): RequestScope {
  res.locals.scope ??= openScope({ signal: clientGone(res) });
  return res.locals.scope as RequestScope;
}

/** Narrows the scope of a request, e.g. when its caller, and so its deadline and the bound of its waits, are known. */
export function narrowScopeOf(res: Response, more: ScopeOptions): RequestScope {
  const scope = narrowScope(scopeOf(res), more);
  res.locals.scope = scope;
  return scope;
}

export interface AdmitRequestsOptions<E extends ApiError> {
  /** Most requests that are worked on concurrently. Eight times as many wait. */
  readonly max: number;
  /** Size of the pool that they use, which bounds them too: more would only wait for connections, in no fair order. */
  readonly connections: number;
  /**
   * An unverified hint about the sender of a request, such as the hash of its token; null for none. The owner found by an earlier
   * request with the same hint is assumed. It stays in memory, so it must be no secret.
   */
  readonly hintOf: (req: Request) => string | null;
  /** Refusals have this shape. They bypass the error handler, because a refusal must be cheap. */
  readonly errors: ErrorShape<E>;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface RequestAdmission {
  /** Lets a request begin when there is a place, or refuses it, before any other work is done for it. */
  readonly check: RequestHandler;
  /**
   * Remembers the owner of a request by its hint, once it is known. Until then requests count for their address, of IPv6 for its /48.
   *
   * @param ownerOf null for a request without a known owner
   */
  countAs(ownerOf: (req: Request, res: Response) => string | null): RequestHandler;
}

/** Requests that wait, in multiples of those that are worked on. */
const WAITING_TIMES = 8;
/** A longer wait means that the work in front makes no progress. */
const WAIT_MS = 5_000;
/** Requests of one connection that wait for an earlier one of it. Bounds memory: hardly any client sends them. */
const PIPELINED_MAX = 8;
const RETRY_SECONDS = 1;
const SENTENCE = 'The service is overloaded. Send the request again after the time in Retry-After.';
/** Owners of recent requests that are remembered, by hint. Bounds memory. */
const HINTS_MAX = 10_000;
const LOG_MS = 10_000;
/** Probes must get an answer, or the platform restarts the process. */
const isOfHealth = /^\/(healthz|readyz)\/?$/;

/** Bounds the requests that a process works on, one of each owner in a round. A request that waits for something else has no place. */
export function admitRequests<E extends ApiError>(options: AdmitRequestsOptions<E>): RequestAdmission {
  const { max, connections, hintOf, errors, log, metrics } = options;
  const concurrency = Math.min(max, connections);
  const room = fairQueue({
    concurrency,
    // Whatever the requests of one owner wait for, those of others begin.
    perOwner: Math.ceil(concurrency / 2),
    waiting: max * WAITING_TIMES,
    waitingPerOwner: max * WAITING_TIMES,
    waitMs: WAIT_MS,
  });
  const owners = new LRUCache<string, string>({ max: HINTS_MAX });
  const knownOwnerOf = (hint: string | null) => (hint === null ? undefined : owners.get(hint));
  const pipelined = pipelinedRequests();
  const noteRefusal = refusalNotes(log, metrics);
  metrics.gauge({
    name: 'corral_requests_in_flight',
    help: 'Requests that are worked on, without those that wait',
    collect() {
      this.set(room.countRunning());
    },
  });
  const busy = errors.ofFault(new RequestFault('overloaded', SENTENCE, RETRY_SECONDS));

  return {
    check(req, res, next) {
      if (isOfHealth.test(req.path)) return next();
      const run = () =>
        room.run(knownOwnerOf(hintOf(req)) ?? `network ${siteOf(req)}`, scopeOf(res), (place) => {
          narrowScopeOf(res, { place });
          const answered = untilAnswered(res);
          next();
          return answered;
        });
      const isFirst = res.socket !== null;
      const work = isFirst ? run() : pipelined.wait(req.socket, res).then(run);
      work.catch((error: unknown) => {
        // The client has gone.
        if (res.closed) return;
        if (!(error instanceof NotAdmitted)) return next(error);
        noteRefusal();
        sendError(res, busy, errors);
      });
    },
    countAs: (ownerOf) => (req, res, next) => {
      const [owner, hint] = [ownerOf(req, res), hintOf(req)];
      if (owner !== null && hint !== null) owners.set(hint, owner);
      next();
    },
  };
}

/** Ends when nothing is left to do except to wait for a client that reads slowly or has gone. */
const untilAnswered = (res: Response): Promise<void> =>
  new Promise((resolve) => {
    res.once('prefinish', resolve);
    res.once('close', resolve);
  });

/**
 * Requests that were sent before an earlier one of their connection was answered. Node.js writes their answers in order, so a place that
 * one of them took would be occupied until its predecessors are answered, however long those wait.
 */
function pipelinedRequests() {
  const counts = new WeakMap<Socket, number>();
  return {
    /**
     * Ends when the connection is free for the answer, or closed.
     *
     * @throws NotAdmitted when too many of the connection wait
     */
    async wait(connection: Socket, res: Response): Promise<void> {
      const before = counts.get(connection) ?? 0;
      if (before >= PIPELINED_MAX) throw new NotAdmitted('full', 'own');
      counts.set(connection, before + 1);
      await new Promise<void>((resolve) => {
        res.once('socket', () => resolve());
        res.once('close', resolve);
      });
      counts.set(connection, (counts.get(connection) ?? 1) - 1);
    },
  };
}

/** Counted instead of logged: a log line would cost more than the refusal. */
function refusalNotes(log: Log, metrics: Metrics): () => void {
  const refused = metrics.counter({
    name: 'corral_requests_refused_total',
    help: 'Requests that were refused because too much was in flight',
  });
  let loggedAt = Number.NEGATIVE_INFINITY;
  let since = 0;
  return () => {
    refused.inc();
    since += 1;
    if (performance.now() - loggedAt < LOG_MS) return;
    log.warn('requests refused: too much in flight', { refused: since });
    loggedAt = performance.now();
    since = 0;
  };
}
