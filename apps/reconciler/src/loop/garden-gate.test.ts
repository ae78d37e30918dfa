import { describe, expect, it, jest } from '@jest/globals';
import { type GardenWord, gardenGate } from './garden-gate.js';
import { Stopped } from './unless-stopped.js';

const running = () => new AbortController().signal;

function aGate(places = 4) {
  jest.useFakeTimers({ now: 0 });
  const pauses: object[] = [];
  const gate = gardenGate({ places, now: () => Date.now(), random: () => 0, onPause: (pause) => pauses.push(pause) });
  /** Enters once and leaves with a word. */
  const say = async (word: GardenWord, key = 'web') => (await gate.enter(key, running()))(word);
  /** How many of `count` who want to are inside, once all that can happen has happened. */
  const enterMany = async (count: number) => {
    const leaves: ((word: GardenWord | null) => void)[] = [];
    for (let index = 0; index < count; index += 1)
      void gate.enter(`c${index}`, running()).then((leave) => leaves.push(leave));
    await jest.advanceTimersByTimeAsync(0);
    return leaves;
  };
  return { gate, pauses, say, enterMany };
}

describe('the gate of the garden', () => {
  it('lets in as many as there are places, and the next one when one leaves', async () => {
    const { enterMany } = aGate(2);
    const inside = await enterMany(5);
    expect(inside).toHaveLength(2);

    inside[0]?.({ kind: 'fine' });
    await jest.advanceTimersByTimeAsync(0);

    expect(inside).toHaveLength(3);
  });

  it('halves its places when the garden asks for fewer calls, and stands still for as long as it asks', async () => {
    const { gate, say, enterMany } = aGate(4);

    await say({ kind: 'throttled', retryAfterMs: 7_000 });

    expect(gate.state()).toEqual({ places: 2, pausedMs: 7_000 });
    const inside = await enterMany(4);
    await jest.advanceTimersByTimeAsync(6_999);
    expect(inside).toHaveLength(0);
    await jest.advanceTimersByTimeAsync(1);
    expect(inside).toHaveLength(2);
  });

  it('counts once what those who were inside together learnt', async () => {
    const { gate, pauses, enterMany } = aGate(8);
    const inside = await enterMany(8);

    for (const leave of inside) leave({ kind: 'throttled', retryAfterMs: 1_000 });

    expect(gate.state().places).toBe(4);
    expect(pauses).toHaveLength(1);
  });

  it('takes one cluster that gets no answer for a matter of that cluster, however often it tries', async () => {
    const { gate, say } = aGate();

    for (let attempt = 0; attempt < 10; attempt += 1) await say({ kind: 'away' }, 'poison');

    expect(gate.state()).toEqual({ places: 4, pausedMs: 0 });
  });

  it('takes several that get no answer for the garden’s, unless one between them got one', async () => {
    const { gate, say } = aGate();
    await say({ kind: 'away' }, 'one');
    await say({ kind: 'away' }, 'two');
    await say({ kind: 'fine' }, 'three');
    await say({ kind: 'away' }, 'four');
    await say({ kind: 'away' }, 'five');
    expect(gate.state()).toEqual({ places: 4, pausedMs: 0 });

    await say({ kind: 'away' }, 'six');

    expect(gate.state()).toEqual({ places: 1, pausedMs: 1_000 });
  });

  it('stays closed to all but one while that one gets no answer', async () => {
    const { gate, say } = aGate();
    for (const key of ['one', 'two', 'three']) await say({ kind: 'away' }, key);
    await jest.advanceTimersByTimeAsync(1_000);

    await say({ kind: 'away' }, 'one');

    expect(gate.state()).toEqual({ places: 1, pausedMs: 2_000 });
  });

  it.each(['away', 'locked'] as const)('looks every two seconds whether a garden is %s any more', async (kind) => {
    const { gate, pauses, say } = aGate();
    const begin = kind === 'away' ? ['one', 'two', 'three'] : ['one'];
    for (const key of begin) await say({ kind }, key);
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await jest.advanceTimersByTimeAsync(gate.state().pausedMs);
      await say({ kind }, 'one');
    }

    expect(pauses.map((pause) => (pause as { ms: number }).ms)).toEqual([1_000, ...Array(6).fill(2_000)]);
  });

  it('closes at once when the garden does not let us in', async () => {
    const { gate, say } = aGate();

    await say({ kind: 'locked' });

    expect(gate.state()).toEqual({ places: 1, pausedMs: 1_000 });
  });

  it('asks a garden that does not say when after pauses that grow to half a minute, and heals by itself', async () => {
    const { gate, pauses, say, enterMany } = aGate(4);
    for (let attempt = 0; attempt < 8; attempt += 1) {
      await say({ kind: 'throttled', retryAfterMs: null });
      await jest.advanceTimersByTimeAsync(gate.state().pausedMs);
    }
    expect(pauses.map((pause) => (pause as { ms: number }).ms)).toEqual([
      ...[1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000],
    ]);
    const inside = await enterMany(3);
    expect(inside).toHaveLength(1);
    inside[0]?.({ kind: 'fine' });
    await jest.advanceTimersByTimeAsync(0);
    expect(inside).toHaveLength(3);
    for (const leave of inside.slice(1)) leave({ kind: 'fine' });

    for (let round = 0; round < 20; round += 1) await say({ kind: 'fine' });

    expect(gate.state()).toEqual({ places: 4, pausedMs: 0 });
  });

  it('learns nothing from who has no word', async () => {
    const { gate, enterMany } = aGate();
    const [leave] = await enterMany(1);

    leave?.(null);

    expect(gate.state()).toEqual({ places: 4, pausedMs: 0 });
  });

  it('lets go of those who wait when the process ends', async () => {
    const { gate, say } = aGate();
    await say({ kind: 'locked' });
    const stop = new AbortController();
    const waiting = gate.enter('web', stop.signal);

    stop.abort();

    await expect(waiting).rejects.toBeInstanceOf(Stopped);
    await expect(gate.enter('web', stop.signal)).rejects.toBeInstanceOf(Stopped);
    expect(jest.getTimerCount()).toBe(0);
  });
});
