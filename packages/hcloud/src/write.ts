import { type CallEnd, parseStatement, retryAfterMs, type UpstreamBudget } from '@corral/admission';
import { equalJitterMs, inSpan, sleep } from '@corral/service';
import { classifyWrite, printable } from './classify.js';
import type { HcloudLog, UpstreamCall, UpstreamWrite, WriteOptions, WriteOutcome } from './client.js';
import type { Exchange, Wire } from './exchange.js';
import { isCleanup, recordSetOf, renderPath, routeOf } from './exchange.js';

export interface CallDeps {
  wire: Wire;
  budget: UpstreamBudget;
  waitMsMax: number;
  log: HcloudLog;
  onCall: (call: UpstreamCall) => void;
  now: () => number;
}

const unreachedBackoff = { firstMs: 100, maxMs: 1_000 };
const aborted: WriteOutcome = { kind: 'unreached', reason: 'the caller gave up before it was sent' };

/** Sends one write: one call that reaches the upstream, however many attempts that takes. */
export async function sendWrite(
  { wire, budget, waitMsMax, log, onCall, now }: CallDeps,
  { team, method, segments, body }: UpstreamWrite,
  { patienceMs = waitMsMax, signal, enterQueue }: WriteOptions = {},
): Promise<WriteOutcome> {
  const path = renderPath(segments);
  const route = routeOf(method, segments);
  const callClass = isCleanup(method, segments) ? 'cleanup' : 'write';
  const want = { class: callClass, flow: team, key: recordSetOf(segments) } as const;
  const endsAt = performance.now() + Math.min(waitMsMax, patienceMs);
  const leftMs = () => endsAt - performance.now();

  let again = false;
  let unreached: WriteOutcome | undefined;
  for (let attempt = 0; ; attempt += 1) {
    const turned = await takeTurn(budget, want, { patienceMs: leftMs(), again, signal, enterQueue });
    if (turned.kind === 'aborted') return aborted;
    // When the upstream was out of reach meanwhile, the wait says nothing about the budget.
    if (turned.kind === 'too_long') return unreached ?? { ...turned, kind: 'throttled' };

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
      if (!(await sleep(delayMs, signal))) return aborted;
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

/** Waits for a turn, as a part of the trace. */
export const takeTurn = (budget: UpstreamBudget, ...[want, wait]: Parameters<UpstreamBudget['turn']>) =>
  inSpan('wait for the upstream budget', { attributes: { 'corral.budget.class': want.class } }, () =>
    budget.turn(want, wait),
  );

/** What a call's end means for the budget. */
export function endOf(exchange: Exchange, nowMs: number): CallEnd {
  if (exchange.kind === 'broken') return { kind: exchange.reached ? 'lost' : 'unreached' };
  const statement = parseStatement(exchange.headers);
  if (exchange.status !== 429) return { kind: 'answered', statement };
  return { kind: 'refused', statement, retryAfterMs: retryAfterMs(exchange.headers, nowMs) };
}
