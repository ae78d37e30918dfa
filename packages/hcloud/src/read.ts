import { type CallClass, flowOf, type Turn } from '@corral/admission';
import { equalJitterMs, sleep } from '@corral/service';
import { classifyRead, printable, type ReadCall } from './classify.js';
import { UpstreamCredentialsRefused, UpstreamUnavailable } from './errors.js';
import type { JsonBody } from './exchange.js';
import { type CallDeps, endOf, takeTurn } from './write.js';

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
 * @throws UpstreamUnavailable, or UpstreamCredentialsRefused
 */
export async function performRead<T>(deps: CallDeps, reading: Reading<T>): Promise<T | null> {
  const startedAt = performance.now();
  const leftMs = (ms: number) => startedAt + ms - performance.now();
  const want = { class: reading.class, flow: flowOf(reading.class, null), key: null };
  const { signal } = reading;

  let attempt = 0;
  let again = false;
  let failure: string | undefined;
  for (;;) {
    const turned = await takeTurn(deps.budget, want, { patienceMs: leftMs(reading.turnMsMax), again, signal });
    if (turned.kind === 'aborted') throw new UpstreamUnavailable('the caller gave up before it was asked');
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
      throw new UpstreamCredentialsRefused(call.status, code);
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
