import type { WriteOutcome } from './client.js';
import type { Exchange } from './exchange.js';
import { errorCodeOf, type JsonBody, readJsonObject } from './exchange.js';

/** What one call of a write came to. A 429 is no outcome yet: the budget decides whether to wait. */
export type WriteCall = Exclude<WriteOutcome, { kind: 'throttled' }> | { kind: 'rate_limited' };

/** What one call of a read came to. */
export type ReadCall =
  | { kind: 'ok'; body: JsonBody }
  | { kind: 'absent' }
  | { kind: 'rate_limited' }
  | { kind: 'credentials_refused'; status: number; code: string }
  /** may be gone on the next attempt */
  | { kind: 'passing'; reason: string }
  /** a repetition would meet the same answer */
  | { kind: 'lasting'; reason: string };

/**
 * Says what a write came to.
 *
 * Only the upstream's own words count: a status without a body in its shape may come from anything on the way, after
 * or before the upstream acted, so that the effect is uncertain.
 */
export function classifyWrite(exchange: Exchange): WriteCall {
  if (exchange.kind === 'broken') {
    return { kind: exchange.reached ? 'uncertain' : 'unreached', reason: exchange.reason };
  }
  const { status } = exchange;
  // A 429 means that the request was not taken, whatever the body looks like.
  if (status === 429) return { kind: 'rate_limited' };

  const body = readJsonObject(exchange.body);
  if (status >= 200 && status < 300) {
    if (body === null) return { kind: 'uncertain', reason: `${status} without a JSON object` };
    return { kind: 'accepted', status, body: body.text };
  }
  const code = body === null ? null : errorCodeOf(body);
  if (body === null || code === null || status < 400)
    return { kind: 'uncertain', reason: `${status} without an error body` };
  if (refusesCredentials(status, code)) return { kind: 'credentials_refused', status, code };
  return { kind: status < 500 ? 'refused' : 'failed', status, code, body: body.text };
}

const passingStatuses = new Set([502, 503, 504]);

/** Says what a read came to. */
export function classifyRead(exchange: Exchange): ReadCall {
  if (exchange.kind === 'broken') return { kind: 'passing', reason: exchange.reason };
  const { status } = exchange;
  if (status === 429) return { kind: 'rate_limited' };

  const body = readJsonObject(exchange.body);
  if (status === 200 && body !== null) return { kind: 'ok', body };
  const code = body === null ? null : errorCodeOf(body);
  if (code === null || status < 400)
    return { kind: 'passing', reason: `${status} without a body of the expected shape` };
  if (status === 404 && code === 'not_found') return { kind: 'absent' };
  // Corral reads its own zones only, so no request is at fault.
  const isForbidden = status === 403 && code === 'forbidden';
  if (isForbidden || refusesCredentials(status, code)) return { kind: 'credentials_refused', status, code };
  return { kind: passingStatuses.has(status) ? 'passing' : 'lasting', reason: `${status} ${printable(code)}` };
}

const tokenCodes = new Set(['unauthorized', 'token_readonly']);

/** Any other 403 (`forbidden`, `maintenance`, `resource_limit_exceeded`) may be about the request, and the client of a write shall see it. */
function refusesCredentials(status: number, code: string): boolean {
  return status === 401 || (status === 403 && tokenCodes.has(code));
}

/** Reasons go to logs: a code in another shape than the upstream's could hold anything. */
export function printable(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? code : 'with an odd code';
}
