import {
  type CallClass,
  type CallEnd,
  flowOf,
  outside,
  parseStatement,
  type RequestScope,
  retryAfterMs,
  type Turn,
  type UpstreamBudget,
} from '@corral/admission';
import { equalJitterMs, inSpan, type Metrics, sleep } from '@corral/service';
import {
  type HcloudClient,
  type HcloudLog,
  type UpstreamCall,
  UpstreamUnavailable,
  type UpstreamWrite,
  type WriteOutcome,
} from './client.js';
import {
  type Exchange,
  errorCodeOf,
  isCleanup,
  type JsonBody,
  readJsonObject,
  renderPath,
  routeOf,
  type Wire,
} from './exchange.js';

export interface CallDeps {
  wire: Wire;
  budget: UpstreamBudget;
  waitMsMax: number;
  log: HcloudLog;
  onCall: (call: UpstreamCall) => void;
  onWrite: (outcome: WriteOutcome) => void;
  now: () => number;
}

const unreachedBackoff = { firstMs: 100, maxMs: 1_000 };
const aborted: WriteOutcome = { kind: 'unreached', reason: 'the caller gave up before it was sent' };

/** Sends writes: each is one call that reaches the upstream, however many attempts that takes. */
export const writer =
  (deps: CallDeps): HcloudClient['write'] =>
  async (write, { scope } = {}) => {
    const sent = scope === undefined ? sendFor(deps, write) : outside(scope, () => sendFor(deps, write, scope));
    const outcome = await sent;
    deps.onWrite(outcome);
    return outcome;
  };

async function sendFor(
  { wire, budget, waitMsMax, log, onCall, now }: CallDeps,
  { team, method, segments, body }: UpstreamWrite,
  scope?: RequestScope,
): Promise<WriteOutcome> {
  const path = renderPath(segments);
  const route = routeOf(method, segments);
  const callClass = isCleanup(method, segments) ? 'cleanup' : 'write';
  const want = { class: callClass, flow: team } as const;
  const endsAt = Math.min(performance.now() + waitMsMax, scope?.deadline ?? Number.POSITIVE_INFINITY);
  const leftMs = () => endsAt - performance.now();

  let again = false;
  let unreached: WriteOutcome | undefined;
  for (let attempt = 0; ; attempt += 1) {
    const turned = await takeTurn(budget, want, { patienceMs: leftMs(), again, scope });
    if (turned.kind === 'aborted') return aborted;
    if (turned.kind === 'no_account') return unreached ?? turned;
    if (turned.kind === 'too_long') {
      // When the upstream was out of reach meanwhile, the wait says nothing about the budget.
      return unreached !== undefined && turned.usedUp !== 'places' ? unreached : { ...turned, kind: 'throttled' };
    }

    const startedAt = performance.now();
    const exchange = await wire.exchange({ method, path, body }, Math.max(0, leftMs()));
    budget.end(turned.turn, endOf(exchange, now()));
    const call = classifyWrite(exchange);
    onCall({ route, outcome: call.kind, ms: performance.now() - startedAt });

    again = call.kind === 'rate_limited';
    unreached = undefined;
    if (call.kind === 'rate_limited') continue;
    if (call.kind === 'unreached') {
      unreached = call;
      const delayMs = equalJitterMs(attempt, unreachedBackoff);
      if (delayMs > leftMs()) return call;
      if (!(await sleep(delayMs, scope?.signal))) return aborted;
      continue;
    }
    if (call.kind === 'credentials_refused') {
      const refusal = { ...call, code: printable(call.code) };
      log.error('upstream refuses our token', { route, status: refusal.status, code: refusal.code });
      return refusal;
    }
    return call;
  }
}

export interface Reading<T> {
  class: Exclude<CallClass, 'write' | 'cleanup'>;
  /** how long after its start the read may still have its turn */
  turnMsMax: number;
  signal?: AbortSignal | undefined;
  route: string;
  /** encoded, with its query */
  path: string;
  /** gives undefined when the body has not the expected shape, which is treated as garbage */
  parse: (body: JsonBody) => T | undefined;
}

/** Every repetition after an answer costs budget that writes may need. */
const attemptsMax = 5;
const readBackoff = { firstMs: 200, maxMs: 2_000 };

/**
 * Reads, and repeats what may pass.
 *
 * @returns null when the upstream says `404 not_found`
 * @throws UpstreamUnavailable
 */
export async function performRead<T>(deps: CallDeps, reading: Reading<T>): Promise<T | null> {
  const startedAt = performance.now();
  const leftMs = (ms: number) => startedAt + ms - performance.now();
  const want = { class: reading.class, flow: flowOf(reading.class, null) };
  const { signal } = reading;
  const scope = signal && { signal, deadline: Number.POSITIVE_INFINITY };

  let attempt = 0;
  let again = false;
  let failure: string | undefined;
  for (;;) {
    const turned = await takeTurn(deps.budget, want, { patienceMs: leftMs(reading.turnMsMax), again, scope });
    if (turned.kind === 'aborted') throw new UpstreamUnavailable('the caller gave up before it was asked');
    if (turned.kind === 'no_account')
      throw new UpstreamUnavailable(failure ?? 'the account of its budget is out of reach');
    if (turned.kind === 'too_long') {
      throw new UpstreamUnavailable(failure ?? 'its budget is used up', turned.retryAfterSeconds);
    }
    const call = await callOnce(deps, reading, turned.turn);
    again = call.kind === 'rate_limited';

    if (call.kind === 'parsed') return call.value;
    if (call.kind === 'absent') return null;
    failure = undefined;
    if (call.kind === 'rate_limited') continue;
    if (call.kind === 'credentials_refused') {
      const code = printable(call.code);
      deps.log.error('upstream refuses our token', { route: reading.route, status: call.status, code });
      throw new UpstreamUnavailable(
        `it refuses our token (${call.status} ${code}). Replace the token of the upstream project.`,
      );
    }
    if (call.kind === 'lasting') throw new UpstreamUnavailable(call.reason);

    const delayMs = equalJitterMs(attempt, readBackoff);
    attempt += 1;
    if (attempt === attemptsMax || delayMs > leftMs(deps.waitMsMax)) throw new UpstreamUnavailable(call.reason);
    failure = call.reason;
    await sleep(delayMs);
  }
}

type ParsedCall<T> = Exclude<ReadCall, { kind: 'ok' }> | { kind: 'parsed'; value: T };

async function callOnce<T>(
  { wire, budget, waitMsMax, onCall, now }: CallDeps,
  { route, path, parse }: Reading<T>,
  turn: Turn,
): Promise<ParsedCall<T>> {
  const startedAt = performance.now();
  const exchange = await wire.exchange({ method: 'GET', path, body: null }, waitMsMax);
  budget.end(turn, endOf(exchange, now()));
  const call = parsed(classifyRead(exchange), parse);
  onCall({ route, outcome: call.kind, ms: performance.now() - startedAt });
  return call;
}

function parsed<T>(call: ReadCall, parse: Reading<T>['parse']): ParsedCall<T> {
  if (call.kind !== 'ok') return call;
  const value = parse(call.body);
  if (value === undefined) return { kind: 'passing', reason: '200 without a body of the expected shape' };
  return { kind: 'parsed', value };
}

/** Waits for a turn, as a part of the trace. */
const takeTurn = (budget: UpstreamBudget, ...[want, wait]: Parameters<UpstreamBudget['turn']>) =>
  inSpan('wait for the upstream budget', { attributes: { 'corral.budget.class': want.class } }, () =>
    budget.turn(want, wait),
  );

/** What a call's end means for the budget. */
function endOf(exchange: Exchange, nowMs: number): CallEnd {
  if (exchange.kind === 'broken') return { kind: exchange.reached ? 'lost' : 'unreached' };
  const statement = parseStatement(exchange.headers);
  if (exchange.status !== 429) return { kind: 'answered', statement };
  return { kind: 'refused', statement, retryAfterMs: retryAfterMs(exchange.headers, nowMs) };
}

/** What one call of a write came to. A 429 is no outcome yet: the budget decides whether to wait. */
export type WriteCall = Exclude<WriteOutcome, { kind: 'throttled' | 'no_account' }> | { kind: 'rate_limited' };

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

/** A place for `onCall` that keeps how long the calls take and how they end. */
export function upstreamCallMetrics(metrics: Metrics): (call: UpstreamCall) => void {
  const seconds = metrics.histogram({
    name: 'corral_upstream_call_seconds',
    help: 'Calls of the upstream API',
    labelNames: ['route', 'outcome'],
  });
  return ({ route, outcome, ms }) => seconds.observe({ route, outcome }, ms / 1_000);
}

/** A place for `onWrite` that counts writes by how they ended. */
export function upstreamWriteMetrics(metrics: Metrics): (outcome: WriteOutcome) => void {
  const writes = metrics.counter({
    name: 'corral_dns_writes_total',
    help: 'Writes sent upstream, by how they ended; forbidden: answered 403',
    labelNames: ['outcome'],
  });
  // Counted from zero, so that the first one is seen as an increase.
  writes.inc({ outcome: 'forbidden' }, 0);
  return (outcome) => {
    const isForbidden = outcome.kind === 'refused' && outcome.status === 403;
    writes.inc({ outcome: isForbidden ? 'forbidden' : outcome.kind });
  };
}
