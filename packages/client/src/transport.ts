import { textOf } from './answer-text.js';
import { type CorralError, isCorralError, refusalOf } from './corral-error.js';
import { type Credentials, identify } from './credentials.js';
import { type TimeLimit, timeLimit, waitMs } from './time-limit.js';

export interface ClientOptions {
  /** Address of the API: `https://clusters.example.org`, or `''` for the origin of the page. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Value of `User-Agent`. Browsers send their own. */
  readonly userAgent?: string;
  /** Ends all calls of the client. */
  readonly signal?: AbortSignal;
  /** Time for a call, repetitions included, in ms. Default 60,000. */
  readonly timeoutMs?: number;
  /** Time for one request of a call, in ms. Default 30,000. */
  readonly requestTimeoutMs?: number;
  /** How often a request may be sent again. Default 3. */
  readonly retries?: number;
  /** Size limit of an answer in bytes. Default 16 MiB. */
  readonly answerBytes?: number;
  /** Waits before a repetition. Default: a timer. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface Outgoing {
  readonly operationId: string;
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Whether a second copy of the request does no harm. */
  readonly isRepeatable: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** How long the API may delay the answer, in ms. */
  readonly holdMs?: number | undefined;
}

export interface Incoming {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** An answer whose body has not been read yet. The limit has to be ended. */
interface Opened {
  readonly response: Response;
  readonly limit: TimeLimit;
}

export interface Transport {
  /**
   * Sends a request, again where that does no harm, until the API accepts it or its time is up.
   *
   * @throws CorralError, or the reason of an aborted signal
   */
  readonly send: (request: Outgoing) => Promise<Incoming>;
  /** Sends a request once. @throws CorralError, also for a refusal; the reason of an aborted signal */
  readonly open: (request: Outgoing) => Promise<Opened>;
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const REFUSAL_BYTES = 1_048_576;
const BACKOFF_MS_MIN = 400;
const BACKOFF_MS_MAX = 10_000;
/** Spreads clients that were told the same time. */
const SPREAD_MS = 250;

export function createTransport(options: ClientOptions): Transport {
  const { timeoutMs = 60_000, requestTimeoutMs = 30_000, retries = 3, answerBytes = 16 * 1_048_576 } = options;
  const { credentials, userAgent, pause = waitMs } = options;
  const base = baseOf(options.baseUrl);
  const fetched = options.fetch ?? ((url, init) => globalThis.fetch(url, init));

  async function openWithin(ms: number, request: Outgoing, rejected: string | null = null): Promise<Opened> {
    const { operationId, method, path, body } = request;
    const headers = new Headers(request.headers);
    if (userAgent !== undefined) headers.set('User-Agent', userAgent);
    // An error of the caller's function is the caller's.
    const renewable = await identify(headers, credentials, rejected);
    const limit = timeLimit(ms, [request.signal, options.signal]);
    try {
      limit.signal.throwIfAborted();
      const response = await fetched(`${base}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        credentials: credentials === 'browser' ? 'same-origin' : 'omit',
        // A redirect would take the credentials to wherever it leads.
        redirect: 'manual',
        signal: limit.signal,
      });
      if (response.ok || response.status === 304) return { response, limit };
      const refusal = refusalOf(operationId, response, await refusalTextOf(response));
      if (refusal.status !== 401 || renewable === null || rejected !== null) throw refusal;
      limit.end();
      return await openWithin(ms, request, renewable);
    } catch (error) {
      limit.end();
      throw limit.errorOf(error, operationId);
    }
  }

  async function sendOnce(ms: number, request: Outgoing): Promise<Incoming> {
    const { response, limit } = await openWithin(ms, request);
    try {
      const { status, headers } = response;
      return { status, headers, text: await textOf(response, answerBytes) };
    } catch (error) {
      throw limit.errorOf(error, request.operationId);
    } finally {
      limit.end();
    }
  }

  async function send(request: Outgoing): Promise<Incoming> {
    const { holdMs = 0, isRepeatable, signal } = request;
    const endsAt = performance.now() + (request.timeoutMs ?? timeoutMs);
    for (let repeated = 0; ; repeated += 1) {
      try {
        return await sendOnce(Math.min(requestTimeoutMs + holdMs, endsAt - performance.now()), request);
      } catch (error) {
        if (!isCorralError(error) || repeated >= retries || !mayRepeat(error, isRepeatable)) throw error;
        const pauseMs = pauseMsOf(error, repeated);
        if (performance.now() + pauseMs >= endsAt) throw error;
        await pause(pauseMs, signal ?? options.signal);
      }
    }
  }

  return { send, open: (request) => openWithin(requestTimeoutMs, request), pause };
}

/** Null for a text that nobody wrote to explain anything. */
async function refusalTextOf(response: Response): Promise<string | null> {
  try {
    return await textOf(response, REFUSAL_BYTES);
  } catch (error) {
    if (isCorralError(error)) return null;
    throw error;
  }
}

/** A request that was answered 429 has not been carried out, so that any may be sent again. */
function mayRepeat({ status, code }: CorralError, isRepeatable: boolean): boolean {
  if (status === 429) return true;
  return (
    isRepeatable && (code === 'network' || code === 'timeout' || status === 502 || status === 503 || status === 504)
  );
}

/** @param repeated how often it was sent again */
function pauseMsOf({ retryAfterMs }: CorralError, repeated: number): number {
  if (retryAfterMs !== null) return retryAfterMs + Math.random() * SPREAD_MS;
  const most = Math.min(BACKOFF_MS_MIN * 2 ** repeated, BACKOFF_MS_MAX);
  return most * (0.5 + Math.random() / 2);
}

/** @throws TypeError for an address that is not of a server, or that contains credentials */
function baseOf(given: string): string {
  if (given === '') return '';
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new TypeError('baseUrl must be an http or https URL.');
  if (url.username !== '' || url.password !== '') throw new TypeError('baseUrl must not contain credentials.');
  if (url.search !== '' || url.hash !== '') throw new TypeError('baseUrl must not have a query or a fragment.');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
