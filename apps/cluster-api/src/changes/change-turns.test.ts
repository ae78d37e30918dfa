import { describe, expect, it } from '@jest/globals';
import { changeTurns } from './change-turns.js';

const { signal } = new AbortController();

/** Turns whose only slot is occupied forever. `timeouts` end the waits of the others. */
function occupied(limits: { waitingPerTeam?: number; waitingPerProcess?: number }) {
  const timeouts: (() => void)[] = [];
  const queue = changeTurns(
    { waitingPerTeam: 64, waitingPerProcess: 512, waitMs: 10_000, ...limits },
    {
      concurrency: 1,
      after(_ms, then) {
        timeouts.push(then);
        return () => undefined;
      },
    },
  );
  void queue.take('acme', signal, () => new Promise(() => undefined));
  return { take: (team: string) => queue.take(team, signal, async () => 'done'), timeouts };
}

describe('a change that gets no turn', () => {
  it('is refused when too many changes of its team wait', async () => {
    await expect(occupied({ waitingPerTeam: 0 }).take('acme')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 2,
      detail:
        'Nothing was changed: the team already has 0 waiting changes, which is the limit. Repeat the request after the time in Retry-After, and send fewer changes at the same time.',
    });
  });

  it('is refused when earlier changes of its team are too slow', async () => {
    const { take, timeouts } = occupied({});
    const change = take('acme');
    timeouts[0]?.();

    await expect(change).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 10,
      detail:
        'Nothing was changed: earlier changes of the team did not finish within 10 s. Repeat the request after the time in Retry-After, and send fewer changes at the same time.',
    });
  });

  it.each(['full', 'slow'])('is refused when other teams occupy the process: %s', async (why) => {
    const { take, timeouts } = occupied(why === 'full' ? { waitingPerProcess: 0 } : {});
    const change = take('globex');
    timeouts[0]?.();

    await expect(change).rejects.toMatchObject({
      code: 'service_unavailable',
      status: 503,
      retryAfterSeconds: why === 'full' ? 2 : 10,
      detail:
        'Nothing was changed: too many changes of all teams are waiting. Repeat the request after the time in Retry-After.',
    });
  });
});
