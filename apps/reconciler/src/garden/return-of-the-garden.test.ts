import type { GardenClient } from '@corral/garden';
import { GardenError, type GardenErrorKind, type Shoot } from '@corral/garden';
import { silentLog } from '@corral/service';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { only } from '../../test/support/only.js';
import { authorities } from './catalogue.js';
import type { DueStore, WaitingShoot } from './follow-shoots.js';
import { probeGarden } from './return-of-the-garden.js';

describe('certificate authorities of Shoots', () => {
  const { signal } = new AbortController();
  const aShoot = (uid: string, rotation: string | null = null) => ({
    namespace: 'garden-a',
    name: 'c1',
    uid,
    rotation,
  });

  /** A garden that gives one answer after the other and repeats the last one. */
  function aGarden(...answers: (string | null | Error)[]) {
    let reads = 0;
    return {
      reads: () => reads,
      async readAuthority() {
        const answer = answers[Math.min(reads, answers.length - 1)] ?? null;
        reads += 1;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
  }

  const encoded = (pem: string): string => Buffer.from(pem).toString('base64');

  it('are read once, and returned in base64 as in kubeconfigs', async () => {
    const garden = aGarden('PEM');
    const all = authorities(only<GardenClient>(garden), 10);

    const [first, second] = [await all.read(aShoot('u1'), signal), await all.read(aShoot('u1'), signal)];

    expect([first, second, garden.reads()]).toEqual([encoded('PEM'), encoded('PEM'), 1]);
  });

  it('are read again after rotation progress, and for another Shoot', async () => {
    const garden = aGarden('one', 'both', 'other');
    const all = authorities(only<GardenClient>(garden), 10);
    await all.read(aShoot('u1'), signal);

    expect(await all.read(aShoot('u1', 'Prepared'), signal)).toBe(encoded('both'));
    expect(await all.read(aShoot('u2'), signal)).toBe(encoded('other'));
  });

  it('are read again while there is none, and after a failure', async () => {
    const all = authorities(only<GardenClient>(aGarden(null, new GardenError('unreachable', 'away'), 'PEM')), 10);

    expect(await all.read(aShoot('u1'), signal)).toBeNull();
    await expect(all.read(aShoot('u1'), signal)).rejects.toThrow(GardenError);
    expect(await all.read(aShoot('u1'), signal)).toBe(encoded('PEM'));
  });
});

describe('the garden probe', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    // Node.js has a clock of its own for these.
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const over = new AbortController();
      setTimeout(() => over.abort(), ms);
      return over.signal;
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  type Answer = 'ok' | GardenErrorKind | 'hangs';

  type Waiting = Omit<WaitingShoot, 'newestSince'> & Partial<WaitingShoot>;

  /** Runs a probe with fake timers for this many seconds. */
  async function probe(
    world: { readonly waiting?: (ms: number) => Waiting | null; readonly answer: (ms: number) => Answer },
    seconds: number,
  ) {
    const { waiting = () => ({ namespace: 'garden-acme', name: 'web' }), answer } = world;
    const withSince = (found: Waiting | null) => found && { newestSince: '2026-01-01T00:00:00.000Z', ...found };
    const asked: { ms: number; what: string }[] = [];
    const returns: number[] = [];
    const ask = async (what: string, signal?: AbortSignal): Promise<unknown> => {
      asked.push({ ms: Date.now(), what });
      const kind = answer(Date.now());
      if (kind === 'ok') return null;
      if (kind !== 'hangs') throw new GardenError(kind, 'no');
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(new GardenError('unreachable', 'the caller gave up')));
      });
    };
    const stop = new AbortController();
    const probing = probeGarden({
      garden: only<GardenClient>({
        readShoot: async ({ name }, signal) => (await ask(name, signal)) as Shoot,
        listShoots: async (_, signal) => (await ask('a list', signal)) as never,
      }),
      dueTimes: only<DueStore>({ findWaiting: async () => withSince(waiting(Date.now())) }),
      onReturn: async () => void returns.push(Date.now()),
      pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      log: silentLog,
    })(stop.signal);
    await jest.advanceTimersByTimeAsync(seconds * 1_000);
    stop.abort();
    await jest.advanceTimersByTimeAsync(10_000);
    await probing;
    return { asked, returns };
  }

  it.each<Answer>(['unreachable', 'uncertain', 'server_error', 'unusable', 'credentials', 'throttled', 'hangs'])(
    'reports the end of an outage (%s) once and within three seconds',
    async (answer) => {
      const backAt = 60_700;

      const { returns } = await probe({ answer: (ms) => (ms < backAt ? answer : 'ok') }, 120);

      expect(returns).toHaveLength(1);
      expect(returns[0]).toBeGreaterThanOrEqual(backAt);
      expect(returns[0]).toBeLessThan(backAt + 3_000);
    },
  );

  it('makes no call while no cluster waits', async () => {
    const { asked, returns } = await probe({ waiting: () => null, answer: () => 'ok' }, 60);

    expect([asked, returns]).toEqual([[], []]);
  });

  it('reads the Shoot of a waiting cluster, or lists one Shoot when the cluster has no namespace', async () => {
    const places = [
      { namespace: null, name: 'new' },
      { namespace: 'garden-acme', name: 'web' },
    ] as const;

    const { asked } = await probe({ waiting: (ms) => places[ms === 0 ? 0 : 1], answer: () => 'unreachable' }, 2);

    expect(asked.map(({ what }) => what).slice(0, 2)).toEqual(['a list', 'web']);
  });

  it('treats a new waiting cluster as one that missed the return, and probes rarely while it waits', async () => {
    const { asked, returns } = await probe(
      { waiting: (ms) => (ms < 10_000 ? null : { namespace: 'garden-acme', name: 'broken' }), answer: () => 'ok' },
      100,
    );

    expect(returns).toHaveLength(1);
    expect(asked.length).toBeLessThan(22);
  });

  it('counts every refusal about the Shoot as an answer', async () => {
    const answers: Answer[] = ['rbac', 'not_found', 'refused'];
    for (const answer of answers) {
      const { returns } = await probe({ answer: (ms) => (ms < 5_000 ? 'unreachable' : answer) }, 20);
      expect(returns).toHaveLength(1);
    }
  });
});
