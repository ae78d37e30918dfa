import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';

export type WaitOptions = { timeoutMs?: number };

const POLL_MS_MIN = 5;
const POLL_MS_MAX = 200;
/** Time for a probe that begins at the deadline. */
const LAST_LOOK_MS = 1_000;

/**
 * Polls until `probe` returns a truthy value, and returns it.
 *
 * A probe that throws counts as "not yet", so it can report what it saw by throwing an error or using `expect`. The
 * last probe begins at the deadline, so a machine that stalled until then fails nothing.
 *
 * @param description completes the sentence "waited … for"
 * @throws Error with the description and the last state seen, after `timeoutMs` (default 90,000: an upper bound for
 *   hangs that ends a wait before Jest ends the test, not a measure of speed)
 */
export async function waitFor<T>(
  description: string,
  probe: () => T | Promise<T>,
  { timeoutMs = 90_000 }: WaitOptions = {},
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const deadline = performance.now() + timeoutMs;
  let lastSeen = 'nothing yet: the first probe has not ended';
  for (let pollMs = POLL_MS_MIN; ; pollMs = Math.min(pollMs * 1.5, POLL_MS_MAX)) {
    const leftMs = deadline - performance.now();
    const outcome = await probeOnce(probe, leftMs > 0 ? leftMs : LAST_LOOK_MS);
    if (outcome.kind === 'truthy') return outcome.value as Exclude<T, undefined | null | false | 0 | ''>;
    if (outcome.kind === 'not yet') lastSeen = outcome.seen;
    if (leftMs <= 0) {
      throw new Error(`Waited ${timeoutMs} ms for ${description}. Last seen: ${lastSeen}`);
    }
    await pause(Math.min(pollMs, Math.max(0, deadline - performance.now())));
  }
}

type Outcome<T> = { kind: 'truthy'; value: T } | { kind: 'not yet'; seen: string } | { kind: 'hangs' };

async function probeOnce<T>(probe: () => T | Promise<T>, leftMs: number): Promise<Outcome<T>> {
  const giveUp = new AbortController();
  const answer = async (): Promise<Outcome<T>> => {
    try {
      const value = await probe();
      return value ? { kind: 'truthy', value } : { kind: 'not yet', seen: inspect(value) };
    } catch (error) {
      return { kind: 'not yet', seen: error instanceof Error ? error.message : inspect(error) };
    }
  };
  const timeout = pause<Outcome<T>>(Math.max(0, leftMs), { kind: 'hangs' }, { signal: giveUp.signal });
  timeout.catch(() => undefined); // aborted below
  try {
    return await Promise.race([answer(), timeout]);
  } finally {
    giveUp.abort();
  }
}
