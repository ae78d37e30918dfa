import type { Budget } from './budget.js';
import { classifyWrite, printable } from './classify.js';
import type { HcloudLog, UpstreamCall, UpstreamWrite, WriteOutcome } from './client.js';
import type { Wire } from './exchange.js';
import { renderPath, routeOf } from './path.js';
import { backoffMs, sleep, startPatience } from './sleep.js';

export interface CallDeps {
  wire: Wire;
  budget: Budget;
  waitMsMax: number;
  log: HcloudLog;
  onCall: (call: UpstreamCall) => void;
}

const unreachedBackoff = { firstMs: 100, capMs: 1_000 };
const aborted: WriteOutcome = { kind: 'unreached', reason: 'the caller gave up before it was sent' };

/** Sends one write: one call that reaches the upstream, however many attempts that takes. */
export async function sendWrite(
  { wire, budget, waitMsMax, log, onCall }: CallDeps,
  { method, segments, body }: UpstreamWrite,
  signal?: AbortSignal,
): Promise<WriteOutcome> {
  const path = renderPath(segments);
  const route = routeOf(method, segments);
  const patience = startPatience(waitMsMax);

  for (let attempt = 0; ; attempt += 1) {
    const turn = await budget.turn(patience.leftMs(), signal);
    if (turn.kind === 'aborted') return aborted;
    if (turn.kind === 'too_long') return { ...turn, kind: 'throttled' };

    const startedAt = performance.now();
    const exchange = await wire.exchange({ method, path, body });
    if (exchange.kind === 'answered') budget.observe(exchange.headers);
    const call = classifyWrite(exchange);
    onCall({ route, outcome: call.kind, ms: performance.now() - startedAt });

    if (call.kind === 'rate_limited') {
      if (exchange.kind === 'answered') budget.refused(exchange.headers);
      continue;
    }
    if (call.kind === 'unreached') {
      budget.giveBack();
      const delayMs = backoffMs(attempt, unreachedBackoff);
      if (delayMs > patience.leftMs()) return call;
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
