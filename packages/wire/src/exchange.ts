import http from 'node:http';
import https from 'node:https';
import { openSpan } from '@corral/tracing';
import { type Broken, brokenBy, type Stage } from './arrival.js';
import type { Deadline } from './deadline.js';

/** Whom to call, and as whom. */
export interface Endpoint {
  /** With the path that all calls have in common. */
  readonly server: URL;
  /** For every call. */
  readonly headers: Readonly<Record<string, string>>;
  /** See `openAgent`. */
  readonly agent: http.Agent;
}

export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the server's address, encoded, with its query. */
  readonly path: string;
  /** What may come back, default JSON. */
  readonly accept?: string | undefined;
  readonly body?: { readonly type: string; readonly bytes: Buffer } | undefined;
}

export interface Bounds {
  readonly deadline: Deadline;
  /** A longer answer is `too_large`. */
  readonly bodyBytesMax: number;
  /** Restarts the deadline with this time when the call gets a connection, ready or still connecting. */
  readonly callMs?: number;
}

/** The headers of answers that are read, by their names in lower case. */
const ANSWER_HEADERS = [
  'content-length',
  'date',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
] as const;
type AnswerHeader = (typeof ANSWER_HEADERS)[number];
export type AnswerHeaders = Readonly<Partial<Record<AnswerHeader, string>>>;

export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** An answer whose body is still to come. */
export interface Opened {
  readonly kind: 'opened';
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: http.IncomingMessage;
}

/** Makes one HTTP call and never rejects. No repetition, no redirect, no decompression. */
export async function exchange(endpoint: Endpoint, outgoing: Outgoing, bounds: Bounds): Promise<Answered | Broken> {
  const opened = await openExchange(endpoint, outgoing, bounds);
  return opened.kind === 'broken' ? opened : collect(opened, bounds);
}

const TRACED_PATH_MAX = 512;

/** Makes one HTTP call up to the headers of its answer. The deadline then bounds the body. Never rejects. A span of a trace ends with the headers. */
export function openExchange(
  { server, agent, headers }: Endpoint,
  { method, path, accept = 'application/json', body }: Outgoing,
  { deadline, callMs }: Pick<Bounds, 'deadline' | 'callMs'>,
): Promise<Opened | Broken> {
  const isSecure = server.protocol === 'https:';
  const target = `${server.pathname.replace(/\/+$/, '')}${path}`;
  const span = openSpan(method, {
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': server.hostname,
      'server.port': Number(server.port || (isSecure ? 443 : 80)),
      'url.path': (target.split('?', 1)[0] as string).slice(0, TRACED_PATH_MAX),
    },
  });
  return new Promise((resolve) => {
    let isSettled = false;
    const settle = (outcome: Opened | Broken): void => {
      if (isSettled) return;
      isSettled = true;
      if (outcome.kind === 'opened') span?.set({ 'http.response.status_code': outcome.status });
      if (outcome.kind === 'broken') span?.fail(outcome.cause);
      else if (outcome.status >= 400) span?.fail(String(outcome.status));
      span?.end();
      resolve(outcome);
    };
    let stage: Stage = 'queued';
    const fail = (error?: unknown) => settle(brokenBy(error, stage, deadline.cause()));
    if (deadline.cause() !== null) {
      fail();
      return;
    }
    const request = (isSecure ? https : http).request({
      protocol: server.protocol,
      hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port,
      path: target,
      method,
      agent,
      headers: rawHeaders({
        Host: server.host,
        ...headers,
        Accept: accept,
        'User-Agent': 'corral',
        ...(span && { traceparent: span.traceparent }),
        ...(body && { 'Content-Type': body.type }),
        ...lengthOf(method, body),
      }),
    });
    request.once('socket', (socket) => {
      if (callMs !== undefined) deadline.restart(callMs);
      stage = 'connecting';
      if (request.reusedSocket || !socket.connecting) stage = 'waiting';
      else socket.once(isSecure ? 'secureConnect' : 'connect', () => (stage = 'waiting'));
    });
    request.once('response', (answer) => {
      settle({
        kind: 'opened',
        status: answer.statusCode ?? 0,
        headers: answerHeaders(answer),
        body: answer,
      });
    });
    request.on('error', fail);
    // A request that waits for a connection emits nothing before it has one, not even when it is destroyed.
    const forget = deadline.onOver(() => {
      fail();
      request.destroy(new Error('the deadline is over'));
    });
    // Whatever happens, there is an end. After a response it changes nothing.
    request.once('close', () => {
      forget();
      fail();
    });
    request.end(body?.bytes);
  });
}

/** Names and values in turns: Node.js takes them as they come, and adds neither `Host` nor the length. */
function rawHeaders(headers: Readonly<Record<string, string | number>>): string[] {
  const raw: string[] = [];
  for (const [name, value] of Object.entries(headers)) raw.push(name, String(value));
  return raw;
}

/** Without a length, Node.js would announce chunks for these methods, even if there are none. */
const SENDS_LENGTH: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

function lengthOf(method: string, body: Outgoing['body']): { 'Content-Length'?: number } {
  if (body !== undefined) return { 'Content-Length': body.bytes.length };
  return SENDS_LENGTH.has(method) ? { 'Content-Length': 0 } : {};
}

/** Reads the rest of an answer as a whole, by its events: an iterator costs more than most answers. Never rejects. */
export function collect(
  { status, headers, body }: Opened,
  { deadline, bodyBytesMax }: Bounds,
): Promise<Answered | Broken> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const fail = (error?: unknown) => settle(brokenBy(error, 'answering', deadline.cause()));
    const forget = deadline.onOver(() => fail());
    const settle = (result: Answered | Broken): void => {
      forget();
      resolve(result);
    };
    // Its events have been, and the deadline may have been over before.
    if (body.destroyed || deadline.cause() !== null) return fail();
    body.on('error', fail);
    body.once('close', () => fail());
    body.once('end', () => {
      // A body of no announced length ends like any other when it is cut off.
      if (deadline.cause() !== null) fail();
      else settle({ kind: 'answered', status, headers, body: Buffer.concat(chunks) });
    });
    body.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bodyBytesMax) chunks.push(chunk);
      else {
        settle(tooLarge(bodyBytesMax));
        body.destroy();
      }
    });
  });
}

const tooLarge = (bytesMax: number): Broken => ({ kind: 'broken', stage: 'answering', cause: 'too_large', bytesMax });

/** Node.js makes the object of all headers in any case, because its agent looks for `Keep-Alive` there. */
function answerHeaders({ headers }: http.IncomingMessage): AnswerHeaders {
  const found: { [N in AnswerHeader]?: string } = {};
  for (const name of ANSWER_HEADERS) {
    const value = headers[name];
    if (value !== undefined) found[name] = (value as string).trim();
  }
  return found;
}
