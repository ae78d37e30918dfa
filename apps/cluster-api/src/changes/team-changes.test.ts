import type { Prisma } from '@corral/database';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { teamChanges } from './team-changes.js';

const scope = { signal: new AbortController().signal, deadline: Number.POSITIVE_INFINITY };
const WAIT_MS = 10_000;

/** A queue whose only connection is taken forever. */
function occupied(limits: { waitingPerTeam?: number; waitingPerProcess?: number }) {
  const changes = { waitingPerTeam: 64, waitingPerProcess: 512, waitMs: WAIT_MS, ...limits };
  const { inTurn } = teamChanges({} as Prisma, changes, 1);
  void inTurn('acme', scope, () => new Promise(() => undefined));
  return (team: string) => inTurn(team, scope, async () => 'done');
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('a change that gets no turn', () => {
  it('is refused when too many changes of its team wait', async () => {
    await expect(occupied({ waitingPerTeam: 0 })('acme')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 2,
      detail:
        'Nothing was changed: the team already has 0 waiting changes, which is the limit. Repeat the request after the time in Retry-After, and send fewer changes at the same time.',
    });
  });

  it('is refused when earlier changes of its team are too slow', async () => {
    const refused = expect(occupied({})('acme')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 10,
      detail:
        'Nothing was changed: earlier changes of the team did not finish within 10 s. Repeat the request after the time in Retry-After, and send fewer changes at the same time.',
    });

    jest.advanceTimersByTime(WAIT_MS);

    await refused;
  });

  it.each(['full', 'slow'])('is refused when other teams occupy the process: %s', async (why) => {
    const change = occupied(why === 'full' ? { waitingPerProcess: 0 } : {});
    const refused = expect(change('globex')).rejects.toMatchObject({
      code: 'service_unavailable',
      status: 503,
      retryAfterSeconds: why === 'full' ? 2 : 10,
      detail:
        'Nothing was changed: too many changes of all teams are waiting. Repeat the request after the time in Retry-After.',
    });

    jest.advanceTimersByTime(WAIT_MS);

    await refused;
  });
});
