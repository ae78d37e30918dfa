import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';

/**
 * How far a call came, which shows whether the other side may have acted on it.
 *
 * `queued`: all connections were busy. `connecting`: no connection was ready. In both cases no byte of the request left.
 * `waiting`: the request may have arrived. `answering`: the answer began, and is half or too large.
 */
export type Stage = 'queued' | 'connecting' | 'waiting' | 'answering';

/** A `transport` of axios for one request, which knows how far the request came. */
export interface Arrival {
  stage: Stage;
  readonly transport: {
    request(options: https.RequestOptions, onAnswer: (answer: IncomingMessage) => void): ClientRequest;
  };
}

/** @param onSocket called when the request gets a connection, ready or still connecting */
export function watchArrival(onSocket?: () => void): Arrival {
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
export type Fault =
  /** The time was over, or a caller gave up. */
  | { readonly cause: 'time' | 'caller' }
  | { readonly cause: 'too_large'; readonly bytesMax: number }
  | {
      readonly cause: 'error';
      /** Of the system error, see `codeOf`. */
      readonly code: string;
      /** The server has no certificate that we trust. */
      readonly untrusted: boolean;
    };

/** A call without a usable answer. Holds constants, numbers and error codes only, so all of it may be logged. */
export type Broken = { readonly kind: 'broken'; readonly stage: Stage } & Fault;

/** Whether the request may have arrived. False: surely no byte of it left, and it may be sent again. */
export function mayHaveArrived({ stage }: Pick<Broken, 'stage'>): boolean {
  return stage === 'waiting' || stage === 'answering';
}

/** Says what became of a call that ended with an error. Pure. */
export function brokenBy(error: unknown, stage: Stage, signal: AbortSignal): Broken {
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
