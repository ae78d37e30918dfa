import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { isObject, type JsonObject } from '@corral/contracts';
import axios from 'axios';
import { openSpan } from './traces.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a body that must be a JSON object in UTF-8; null for everything else. A byte order mark is dropped. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  return parse(bytes, utf8)?.value ?? null;
}

const exactUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The same for a body whose text is passed on unchanged. A byte order mark is no JSON. */
export function readJsonObject(bytes: Uint8Array): { text: string; value: JsonObject } | null {
  return parse(bytes, exactUtf8);
}

function parse(bytes: Uint8Array, decoder: typeof utf8): { text: string; value: JsonObject } | null {
  try {
    const text = decoder.decode(bytes);
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { text, value } : null;
  } catch {
    return null;
  }
}

/** Whom to call, and as whom. */
export interface Endpoint {
  /** The address with the path that all calls have in common. */
  readonly server: URL;
  /** Headers of every call. */
  readonly headers: Readonly<Record<string, string>>;
  /** See `openAgent`. */
  readonly agent: http.Agent;
  /** Whether the agent goes through a proxy. */
  readonly isProxied?: boolean;
  /** Whether paths may hold secrets of the server. Traces have none of them. */
  readonly hidesPath?: boolean;
}

export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below the server's address, encoded, with its query. */
  readonly path: string;
  /** What may come back, default JSON. */
  readonly accept?: string | undefined;
  readonly body?: { readonly type: string; readonly bytes: Buffer } | undefined;
}

export interface CallBounds {
  /** Ends the call, also while its answer arrives. */
  readonly signal: AbortSignal;
  /** Called when the call gets a connection, ready or still connecting. */
  readonly onSocket?: () => void;
}

export interface Bounds extends CallBounds {
  /** A longer answer is `too_large`. */
  readonly bodyBytesMax: number;
}

/** Those that are read; Node.js gives a single text for each. */
export type AnswerHeaders = Readonly<
  Partial<Record<'date' | 'ratelimit-limit' | 'ratelimit-remaining' | 'ratelimit-reset' | 'retry-after', string>>
>;

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
  readonly body: Readable;
}

/** Makes one HTTP call and never rejects. No repetition, no redirect, no decompression. */
export async function exchange(endpoint: Endpoint, outgoing: Outgoing, bounds: Bounds): Promise<Answered | Broken> {
  const opened = await openExchange(endpoint, outgoing, bounds);
  return opened.kind === 'broken' ? opened : collect(opened, bounds);
}

const TRACED_PATH_MAX = 512;

/**
 * Makes one HTTP call up to the headers of its answer. The signal then also ends the body. Never rejects: errors of axios hold
 * the request, and so its token. A span of a trace ends with the headers.
 */
export async function openExchange(
  { server, agent, headers, isProxied = false, hidesPath = false }: Endpoint,
  { method, path, accept = 'application/json', body }: Outgoing,
  { signal, onSocket }: CallBounds,
): Promise<Opened | Broken> {
  const url = `${server.href.replace(/\/+$/, '')}${path}`;
  const span = openSpan(method, {
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': server.hostname,
      'server.port': Number(server.port || (server.protocol === 'https:' ? 443 : 80)),
      'url.path': hidesPath ? undefined : new URL(url).pathname.slice(0, TRACED_PATH_MAX),
    },
  });
  const arrival = watchArrival(onSocket);
  try {
    const answer = await axios.request<Readable>({
      method,
      url,
      data: body?.bytes,
      headers: {
        ...headers,
        Accept: accept,
        'Accept-Encoding': 'identity',
        'Content-Type': body?.type ?? false,
        'User-Agent': 'corral',
        ...(span && { traceparent: span.traceparent }),
      },
      httpAgent: agent,
      httpsAgent: agent,
      transport: arrival.transport,
      signal,
      responseType: 'stream',
      validateStatus: null,
      maxRedirects: 0,
      decompress: false,
      // Without it, axios looks for a proxy in the environment, unless the agent has one.
      ...(!isProxied && { proxy: false }),
    });
    span?.set({ 'http.response.status_code': answer.status });
    if (answer.status >= 400) span?.fail(String(answer.status));
    return { kind: 'opened', status: answer.status, headers: answer.headers as AnswerHeaders, body: answer.data };
  } catch (error) {
    const broken = brokenBy(error, arrival.stage, signal);
    span?.fail(broken.cause);
    return broken;
  } finally {
    span?.end();
  }
}

/** Reads the rest of an answer as a whole. Never rejects. */
export async function collect(
  { status, headers, body }: Opened,
  { signal, bodyBytesMax }: Bounds,
): Promise<Answered | Broken> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bodyBytesMax) {
        return { kind: 'broken', stage: 'answering', cause: 'too_large', bytesMax: bodyBytesMax };
      }
      chunks.push(chunk);
    }
  } catch (error) {
    return brokenBy(error, 'answering', signal);
  }
  return { kind: 'answered', status, headers, body: Buffer.concat(chunks) };
}

/** Trusted authorities and our own certificate. Defaults are those of Node.js. */
export type TlsMaterial = Pick<https.AgentOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface AgentOptions {
  /** Connections at the same time; more requests wait for one. Default: 64. */
  readonly socketsMax?: number | undefined;
  readonly tls?: TlsMaterial;
  /** Address of an HTTP proxy that all connections go through. */
  readonly proxyUrl?: string | null;
}

const socketsUsual = 64;
/**
 * How long an idle connection is kept. Servers commonly allow a minute: no request must meet a connection that is being closed. A
 * server may shorten it by its `Keep-Alive` header.
 */
const idleMsMax = 30_000;

/** Opens connections to a server that calls use one after the other. `destroy` ends them all. */
export function openAgent(
  { protocol }: URL,
  { socketsMax = socketsUsual, tls, proxyUrl = null }: AgentOptions = {},
): http.Agent {
  const options = {
    ...{ keepAlive: true, maxSockets: socketsMax, timeout: idleMsMax },
    ...(proxyUrl !== null && { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
  };
  return protocol === 'http:' ? new http.Agent(options) : new https.Agent({ ...options, ...tls });
}

/**
 * How far a call came, which shows whether the other side may have acted on it.
 *
 * `queued`: all connections were busy. `connecting`: no connection was ready. In both cases no byte of the request left.
 * `waiting`: the request may have arrived. `answering`: the answer began, and is half or too large.
 */
type Stage = 'queued' | 'connecting' | 'waiting' | 'answering';

/** A `transport` of axios for one request, which knows how far the request came. */
interface Arrival {
  stage: Stage;
  readonly transport: {
    request(options: https.RequestOptions, onAnswer: (answer: IncomingMessage) => void): ClientRequest;
  };
}

/** @param onSocket called when the request gets a connection, ready or still connecting */
function watchArrival(onSocket?: () => void): Arrival {
  const arrival: Arrival = {
    stage: 'queued',
    transport: {
      request(options, onAnswer) {
        const isSecure = options.protocol === 'https:';
        const request = (isSecure ? https : http).request(options, onAnswer);
        request.once('socket', (socket) => {
          onSocket?.();
          arrival.stage = socket.connecting && !request.reusedSocket ? 'connecting' : 'waiting';
          if (arrival.stage === 'waiting') return;
          socket.once(isSecure ? 'secureConnect' : 'connect', () => {
            arrival.stage = 'waiting';
          });
        });
        let isAnswered = false;
        request.once('response', () => {
          isAnswered = true;
        });
        // Node.js closes a request silently that is answered with a protocol that nobody asked for.
        request.once('close', () => {
          if (!isAnswered) request.emit('error', new Error('The request was closed without an answer.'));
        });
        return request;
      },
    },
  };
  return arrival;
}

/** Why there is no answer. */
type Fault =
  /** The time was over, or a caller gave up. */
  | { readonly cause: 'time' | 'caller' }
  | { readonly cause: 'too_large'; readonly bytesMax: number }
  | {
      readonly cause: 'error';
      /** The code of the system error, see `codeOf`. */
      readonly code: string;
      /** The server has no certificate that we trust. */
      readonly untrusted: boolean;
    };

/** A call without a usable answer. Holds constants, numbers and error codes only, so all of it may be logged. */
export type Broken = { readonly kind: 'broken'; readonly stage: Stage } & Fault;

/** Whether the request may have arrived. False: surely no byte of it left, and it may be sent again. */
export function mayHaveArrived({ stage }: Broken): boolean {
  return stage === 'waiting' || stage === 'answering';
}

/** Says what became of a call that ended with an error. Pure. */
function brokenBy(error: unknown, stage: Stage, signal: AbortSignal): Broken {
  const code = codeOf(error);
  const reached = stage === 'waiting' && lookupCodes.has(code) ? 'connecting' : stage;
  if (!signal.aborted) return { kind: 'broken', stage: reached, cause: 'error', code, untrusted: isUntrusted(code) };
  // What is late or not wanted any more need not be half: nothing can be said about the answer.
  return { kind: 'broken', stage: reached === 'answering' ? 'waiting' : reached, cause: endOf(signal) };
}

/** Why a signal was aborted: by `AbortSignal.timeout`, or by somebody. */
export function endOf({ reason }: AbortSignal): 'time' | 'caller' {
  return (reason as { name?: unknown } | null)?.name === 'TimeoutError' ? 'time' : 'caller';
}

/** The code of a system error, e.g. `ECONNRESET`: all of it that may go on, since messages may quote anything. */
export function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'no code';
}

/** These come from looking up and connecting only, never from a connection that was once ready. */
const lookupCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

// nodejs.org/api/tls.html, "X509 certificate error codes".
const certificateCodes = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const isUntrusted = (code: string): boolean => certificateCodes.has(code);
