import { type Answered, type AnswerHeaders, type Broken, exchange, mayHaveArrived, openAgent } from '@corral/wire';

export interface Outgoing {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** below the base address, encoded, with its query */
  path: string;
  body: Buffer | null;
}

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
export function openWire({ baseUrl, token, timeoutMs, socketsMax }: WireOptions): Wire {
  const server = parseBaseUrl(baseUrl);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Error('The token of the upstream DNS API is empty or holds spaces or control characters. Set it again.');
  }
  const agent = openAgent(server, { idleMsMax, socketsMax });
  const endpoint = { server, headers: { Authorization: `Bearer ${token}` }, agent };
  return {
    async exchange({ method, path, body }, queueMsMax = timeoutMs) {
      const over = new AbortController();
      const abortAfter = (ms: number) =>
        setTimeout(() => over.abort(new DOMException('No answer in time.', 'TimeoutError')), ms);
      let timer = abortAfter(queueMsMax);
      const onSocket = () => {
        clearTimeout(timer);
        timer = abortAfter(timeoutMs);
      };
      const sent = body === null ? {} : { body: { type: 'application/json', bytes: body } };
      const bounds = { signal: over.signal, bodyBytesMax, onSocket };
      const done = await exchange(endpoint, { method, path, ...sent }, bounds);
      clearTimeout(timer);
      return done.kind === 'broken' ? brokenOf(done, { queueMsMax, timeoutMs }) : checked(done, token);
    },
    close: () => agent.destroy(),
  };
}

function parseBaseUrl(text: string): URL {
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error(
      'The base address of the upstream DNS API must be http(s)://host/path without user, query or hash.',
    );
  }
  return url;
}

/** Bodies are passed on to tenants, and an intermediary may echo what it refuses. Short tokens occur by chance. */
function checked(answer: Answered, token: string): Exchange {
  return token.length >= 32 && answer.body.includes(token)
    ? { kind: 'broken', reached: true, reason: 'the answer repeats our token' }
    : answer;
}

function brokenOf(broken: Broken, within: { queueMsMax: number; timeoutMs: number }): Exchange {
  return { kind: 'broken', reached: mayHaveArrived(broken), reason: reasonOf(broken, within) };
}

function reasonOf(broken: Broken, { queueMsMax, timeoutMs }: { queueMsMax: number; timeoutMs: number }): string {
  const reached = mayHaveArrived(broken);
  switch (broken.cause) {
    case 'time':
    case 'caller':
      if (broken.stage === 'queued') return `no connection was free within ${Math.round(queueMsMax)} ms`;
      return `no ${reached ? 'complete answer' : 'connection'} within ${timeoutMs} ms`;
    case 'too_large':
      return `the answer has more than ${broken.bytesMax} bytes`;
    case 'error':
      return reached ? `the connection or the answer broke (${broken.code})` : `no connection (${broken.code})`;
  }
}
