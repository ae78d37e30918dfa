import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { isObject, type JsonObject } from '@corral/contracts';
import axios from 'axios';
import { type Broken, brokenBy, watchArrival } from './arrival.js';
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
  /** With the path that all calls have in common. */
  readonly server: URL;
  /** For every call. */
  readonly headers: Readonly<Record<string, string>>;
  /** See `openAgent`. */
  readonly agent: http.Agent;
  /** Whether the agent goes through a proxy. */
  readonly isProxied?: boolean;
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
  /** Ends the call, also while its answer arrives. */
  readonly signal: AbortSignal;
  /** A longer answer is `too_large`. */
  readonly bodyBytesMax: number;
  /** Called when the call gets a connection, ready or still connecting. */
  readonly onSocket?: () => void;
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
  { server, agent, headers, isProxied = false }: Endpoint,
  { method, path, accept = 'application/json', body }: Outgoing,
  { signal, onSocket }: Pick<Bounds, 'signal' | 'onSocket'>,
): Promise<Opened | Broken> {
  const url = `${server.href.replace(/\/+$/, '')}${path}`;
  const span = openSpan(method, {
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': server.hostname,
      'server.port': Number(server.port || (server.protocol === 'https:' ? 443 : 80)),
      'url.path': new URL(url).pathname.slice(0, TRACED_PATH_MAX),
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
  { signal, bodyBytesMax }: Pick<Bounds, 'signal' | 'bodyBytesMax'>,
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
  /**
   * How long an idle connection is kept. Below what the server allows, so that no request meets a connection that is
   * being closed. A server may shorten it by its `Keep-Alive` header.
   */
  readonly idleMsMax: number;
  /** Connections at the same time; more requests wait for one. Default: 64. */
  readonly socketsMax?: number | undefined;
  readonly tls?: TlsMaterial;
  /** Address of an HTTP proxy that all connections go through. */
  readonly proxyUrl?: string | null;
}

const socketsUsual = 64;

/** Opens connections to a server that calls use one after the other. `destroy` ends them all. */
export function openAgent(
  { protocol }: Pick<URL, 'protocol'>,
  { idleMsMax, socketsMax = socketsUsual, tls, proxyUrl = null }: AgentOptions,
): http.Agent {
  const options = {
    ...{ keepAlive: true, maxSockets: socketsMax, timeout: idleMsMax },
    ...(proxyUrl !== null && { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
  };
  return protocol === 'http:' ? new http.Agent(options) : new https.Agent({ ...options, ...tls });
}
