import type { ClientRequest } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import axios, { type AxiosInstance } from 'axios';

export interface Outgoing {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** below the base address, encoded, with its query */
  path: string;
  body: Buffer | null;
}

export type AnswerHeaders = Readonly<Partial<Record<(typeof headersOfInterest)[number], string>>>;

export type Exchange =
  | { kind: 'answered'; status: number; headers: AnswerHeaders; body: Buffer }
  /** `reached` is false only when surely no byte of the request left: no connection was ready before it broke */
  | { kind: 'broken'; reached: boolean; reason: string };

export interface Wire {
  /**
   * Makes one HTTP call and never rejects. No repetition, no redirect, no proxy.
   *
   * @param queueMsMax how long it waits for a connection while all are busy; its own time begins when it gets one
   */
  exchange(outgoing: Outgoing, queueMsMax?: number): Promise<Exchange>;
  close(): void;
}

const bodyBytesMax = 8 * 1024 * 1024;
const socketsUsual = 64;
/** Below what servers commonly allow (5 s and up): a request must not meet a connection that is being closed. */
const idleMsMax = 4_000;

export interface WireOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** Of one call, from when it has a connection, be that ready or yet to be made, to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Connections at the same time. Default: 64. */
  readonly socketsMax?: number;
}

/** @throws Error when the address or the token cannot be used; its text never holds the token */
export function openWire(options: WireOptions): Wire {
  const base = parseBaseUrl(options.baseUrl);
  if (!/^[\x21-\x7e]+$/.test(options.token)) {
    throw new Error('The token of the upstream DNS API is empty or holds spaces or control characters. Set it anew.');
  }
  const { timeoutMs, socketsMax = socketsUsual } = options;
  const agentOptions = { keepAlive: true, maxSockets: socketsMax, timeout: idleMsMax };
  const agents = { httpAgent: new http.Agent(agentOptions), httpsAgent: new https.Agent(agentOptions) };
  const requester = axios.create({
    ...agents,
    responseType: 'arraybuffer',
    // An instance of its own with empty lists: nothing on the way may parse, trim or re-encode a body.
    transformRequest: [],
    transformResponse: [],
    validateStatus: () => true,
    maxRedirects: 0,
    maxContentLength: bodyBytesMax,
    decompress: false,
    proxy: false,
    headers: {
      Authorization: `Bearer ${options.token}`,
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'User-Agent': 'corral',
    },
  });
  return {
    async exchange(outgoing, queueMsMax = timeoutMs) {
      const exchange = await exchangeOnce(requester, base, outgoing, { queueMsMax, timeoutMs });
      return exchange.kind === 'answered' && repeats(exchange.body, options.token)
        ? { kind: 'broken', reached: true, reason: 'the answer repeats our token' }
        : exchange;
    },
    close() {
      agents.httpAgent.destroy();
      agents.httpsAgent.destroy();
    },
  };
}

/** Bodies are passed on to tenants, and an intermediary may echo what it refuses. Short tokens occur by chance. */
function repeats(body: Buffer, token: string): boolean {
  return token.length >= 32 && body.includes(token);
}

function parseBaseUrl(text: string): string {
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error(
      'The base address of the upstream DNS API must be http(s)://host/path without user, query or hash.',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

async function exchangeOnce(
  requester: AxiosInstance,
  base: string,
  { method, path, body }: Outgoing,
  { queueMsMax, timeoutMs }: { queueMsMax: number; timeoutMs: number },
): Promise<Exchange> {
  const deadline = new AbortController();
  // One timer over the whole call. axios has timers for silence only, which a trickling body outwits.
  let timer = setTimeout(() => deadline.abort(), queueMsMax);
  const progress: Progress = { isQueued: true, reached: false };
  const leaveQueue = (): void => {
    progress.isQueued = false;
    clearTimeout(timer);
    timer = setTimeout(() => deadline.abort(), timeoutMs);
  };
  try {
    const response = await requester.request<Buffer>({
      method,
      url: `${base}${path}`,
      ...(body === null ? {} : { data: body }),
      headers: { 'Content-Type': body === null ? false : 'application/json' },
      signal: deadline.signal,
      transport: watchedTransport(base.startsWith('https:') ? https : http, progress, leaveQueue),
    });
    const announced = response.headers['content-length'];
    if (announced !== undefined && Number(announced) !== response.data.length) {
      return { kind: 'broken', reached: true, reason: 'the body has not the announced length' };
    }
    return { kind: 'answered', status: response.status, headers: answerHeaders(response.headers), body: response.data };
  } catch (error) {
    // The error stops here: it holds the request's configuration, and so the token.
    const reached = progress.reached && !isConnectFailure(error);
    if (progress.isQueued && deadline.signal.aborted) {
      return { kind: 'broken', reached: false, reason: `no connection was free within ${Math.round(queueMsMax)} ms` };
    }
    return {
      kind: 'broken',
      reached,
      reason: reasonOf(error, { reached, timedOut: deadline.signal.aborted, timeoutMs }),
    };
  } finally {
    clearTimeout(timer);
  }
}

interface Progress {
  /** All connections are busy. */
  isQueued: boolean;
  /** Its bytes may have left. */
  reached: boolean;
}

/** Makes requests that note when they get a connection, and when that was ready, so that their bytes may have left. */
function watchedTransport(protocol: typeof http | typeof https, progress: Progress, leaveQueue: () => void) {
  const readyEvent = protocol === https ? 'secureConnect' : 'connect';
  return {
    request(options: http.RequestOptions, onAnswer: (answer: http.IncomingMessage) => void): ClientRequest {
      const request = protocol.request(options, onAnswer);
      request.once('socket', (socket) => {
        leaveQueue();
        if (request.reusedSocket || !socket.connecting) progress.reached = true;
        else socket.once(readyEvent, () => (progress.reached = true));
      });
      return request;
    },
  };
}

const connectFailureCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** These codes come from looking up and connecting only, never from a connection that was once ready. */
function isConnectFailure(error: unknown): boolean {
  return connectFailureCodes.has(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'no code';
}

function reasonOf(error: unknown, how: { reached: boolean; timedOut: boolean; timeoutMs: number }): string {
  if (how.timedOut) return `no ${how.reached ? 'complete answer' : 'connection'} within ${how.timeoutMs} ms`;
  return how.reached ? `the connection or the answer broke (${codeOf(error)})` : `no connection (${codeOf(error)})`;
}

const headersOfInterest = [
  ...(['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after', 'date'] as const),
] as const;

function answerHeaders(headers: Record<string, unknown>): AnswerHeaders {
  const present = headersOfInterest.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value.trim()]] : [];
  });
  return Object.fromEntries(present);
}
