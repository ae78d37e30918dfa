import { printable } from '../calls.js';
import type { Exchange } from '../exchange.js';
import { errorCodeOf, type JsonBody, readJsonObject } from '../exchange.js';

/** What a call in a customer's project came to, apart from having gone well. */
export type ProjectFailure =
  /** `404 not_found`: it is gone, or in another project. */
  | { readonly kind: 'absent' }
  /** A 4xx in the provider's shape: surely nothing happened. */
  | { readonly kind: 'refused'; readonly status: number; readonly code: string }
  /** 401, or 403 about the token: surely nothing happened. */
  | { readonly kind: 'credentials_refused'; readonly status: number; readonly code: string }
  /** The budget of the project is used up, here or at the provider: surely nothing happened. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number }
  /** Surely no byte of it left. */
  | { readonly kind: 'unreached'; readonly reason: string }
  /** 5xx, no answer, half of one, or one of another shape: a write may have happened. */
  | { readonly kind: 'uncertain'; readonly reason: string };

export type ProjectOutcome<T> =
  | {
      readonly kind: 'ok';
      readonly value: T;
      /** The provider's clock, in whole seconds, when it answered. */
      readonly at: Date;
    }
  | ProjectFailure;

const credentialCodes = new Set(['unauthorized', 'token_readonly', 'forbidden']);

/**
 * Says what a call came to. Only the provider's own words count: what has not its shape may come from anything on the
 * way, before or after the provider acted.
 *
 * @param parse gives undefined when the body is not what was asked for
 */
export function outcomeOf<T>(exchange: Exchange, parse: (body: JsonBody) => T | undefined): ProjectOutcome<T> {
  if (exchange.kind === 'broken') {
    return { kind: exchange.reached ? 'uncertain' : 'unreached', reason: exchange.reason };
  }
  const { status, headers } = exchange;
  const body = readJsonObject(exchange.body);
  if (status >= 200 && status < 300) {
    const value = body === null ? undefined : parse(body);
    const at = dateIn(headers.date);
    if (value === undefined || at === null) {
      return { kind: 'uncertain', reason: `${status} without a body of the expected shape` };
    }
    return { kind: 'ok', value, at };
  }
  const code = body === null ? null : errorCodeOf(body);
  if (code === null || status < 400) return { kind: 'uncertain', reason: `${status} without an error body` };
  if (status >= 500) return { kind: 'uncertain', reason: `${status} ${printable(code)}` };
  if (status === 404 && code === 'not_found') return { kind: 'absent' };
  if (status === 401 || (status === 403 && credentialCodes.has(code))) {
    return { kind: 'credentials_refused', status, code: printable(code) };
  }
  return { kind: 'refused', status, code: printable(code) };
}

/** Every HTTP server with a clock sends it (RFC 9110, section 6.6.1), and what we compare are its clock's times. */
function dateIn(header: string | undefined): Date | null {
  const ms = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(ms) ? null : new Date(ms);
}
