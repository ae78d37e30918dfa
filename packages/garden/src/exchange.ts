import http from 'node:http';
import https from 'node:https';
import { setImmediate } from 'node:timers/promises';
import type { AnswerHeaders } from './classify.js';
import type { Identity } from './credentials.js';
import type { Deadline } from './deadline.js';
import { codeOf } from './errors.js';

export interface Outgoing {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** below the server's address, encoded, with its query */
  path: string;
  /** what may come back, default JSON */
  accept?: string;
  body?: { type: string; bytes: Buffer };
}

export type Exchange = { kind: 'answered'; status: number; headers: AnswerHeaders; body: Buffer } | Broken;

export interface Broken {
  kind: 'broken';
  /**
   * `connecting`: surely no byte of the request left. `waiting`: it may have arrived. `answering`: the answer began and
   * is half or too large
   */
  stage: 'connecting' | 'waiting' | 'answering';
  /** constants, numbers and error codes */
  reason: string;
  /** the server has no certificate that we trust */
  untrusted?: boolean;
}

/** An answer whose body is still to come. */
export interface Opened {
  kind: 'opened';
  status: number;
  headers: AnswerHeaders;
  body: http.IncomingMessage;
}

/** Makes one HTTP call and never rejects. No repetition, no redirect. */
export async function exchange(identity: Identity, outgoing: Outgoing, bounds: Bounds): Promise<Exchange> {
  const opened = await open(identity, outgoing, bounds.deadline);
  return opened.kind === 'broken' ? opened : collect(opened, bounds);
}

/** Makes one HTTP call up to the headers of its answer. The deadline goes on to bound the body. Never rejects. */
export function open(identity: Identity, outgoing: Outgoing, deadline: Deadline): Promise<Opened | Broken> {
  const { server, agent, headers } = identity;
  const isSecure = server.protocol === 'https:';
  return new Promise((settle) => {
    let stage: Broken['stage'] = 'connecting';
    const request = (isSecure ? https : http).request({
      protocol: server.protocol,
      hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port,
      path: `${server.pathname.replace(/\/+$/, '')}${outgoing.path}`,
      method: outgoing.method,
      agent,
      signal: deadline.signal,
      headers: {
        ...headers,
        Accept: outgoing.accept ?? 'application/json',
        'User-Agent': 'corral',
        ...(outgoing.body && { 'Content-Type': outgoing.body.type, 'Content-Length': outgoing.body.bytes.length }),
      },
    });
    request.once('socket', (socket) => {
      if (request.reusedSocket || !socket.connecting) stage = 'waiting';
      else socket.once(isSecure ? 'secureConnect' : 'connect', () => (stage = 'waiting'));
    });
    request.once('response', (body) => {
      settle({ kind: 'opened', status: body.statusCode ?? 0, headers: answerHeaders(body.headers), body });
    });
    const fail = (error?: Error) => {
      const connected = stage !== 'connecting' && !lookupCodes.has(codeOf(error));
      settle(broken(connected ? 'waiting' : 'connecting', error, deadline));
    };
    request.on('error', fail);
    // Whatever happens, there is an end. After a response it changes nothing.
    request.once('close', fail);
    request.end(outgoing.body?.bytes);
  });
}

/** A garden that is near sends faster than we parse: what else this process does must not wait for the last chunk. */
const turnMsMax = 10;

export interface Bounds {
  deadline: Deadline;
  bodyBytesMax: number;
}

/** Reads the rest of an answer as a whole. Never rejects. */
export async function collect(opened: Opened, bounds: Bounds): Promise<Exchange> {
  const chunks: Buffer[] = [];
  const failure = await consume(opened, bounds, (chunk) => chunks.push(chunk));
  const { status, headers } = opened;
  return failure ?? { kind: 'answered', status, headers, body: Buffer.concat(chunks) };
}

/**
 * Reads the rest of an answer as it comes.
 *
 * @throws what `take` throws, and nothing else
 */
export async function consume(
  { body }: Opened,
  { deadline, bodyBytesMax }: Bounds,
  take: (chunk: Buffer) => void,
): Promise<Broken | null> {
  let bytes = 0;
  let refusal: { error: unknown } | null = null;
  let turnBeganAt = performance.now();
  try {
    for await (const chunk of body) {
      if (performance.now() - turnBeganAt > turnMsMax) {
        await setImmediate();
        turnBeganAt = performance.now();
      }
      bytes += chunk.length;
      if (bytes > bodyBytesMax) {
        return { kind: 'broken', stage: 'answering', reason: `the answer has more than ${bodyBytesMax} bytes` };
      }
      try {
        take(chunk);
      } catch (error) {
        refusal = { error };
        break;
      }
    }
  } catch (error) {
    return broken('answering', error, deadline);
  }
  if (refusal !== null) throw refusal.error;
  // A body of no announced length ends like any other when it is cut off.
  return deadline.signal.aborted ? broken('answering', null, deadline) : null;
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

function broken(stage: Broken['stage'], error: unknown, deadline: Deadline): Broken {
  const cause = deadline.cause();
  if (cause === null) {
    const what = { connecting: 'no connection', waiting: 'the connection broke', answering: 'the answer broke off' };
    const code = codeOf(error);
    return { kind: 'broken', stage, reason: `${what[stage]} (${code})`, untrusted: certificateCodes.has(code) };
  }
  // What is late or not wanted any more need not be half: nothing can be said about the answer.
  const sent = stage === 'answering' ? 'waiting' : stage;
  if (cause === 'caller') return { kind: 'broken', stage: sent, reason: 'the caller gave up' };
  return { kind: 'broken', stage: sent, reason: sent === 'connecting' ? 'no connection in time' : 'no answer in time' };
}

function answerHeaders({ 'retry-after': retryAfter, date }: http.IncomingHttpHeaders): AnswerHeaders {
  return {
    ...(retryAfter !== undefined && { 'retry-after': retryAfter.trim() }),
    ...(date !== undefined && { date }),
  };
}
