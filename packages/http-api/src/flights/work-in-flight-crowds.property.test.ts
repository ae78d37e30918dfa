import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  BURST_RECOVERY_MS,
  BURST_REQUESTS,
  type Flight,
  type FlightBounds,
  recover,
  takes,
  type WorkInFlight,
  workInFlight,
} from './work-in-flight.js';

const bounds: FlightBounds = { max: 12, burst: 96, concurrency: 10 };
const crowds = fc
  .record({ own: fc.nat(120), others: fc.nat(120), owners: fc.integer({ min: 1, max: 40 }) })
  .map(({ own, others, owners }) => ({ inFlight: own + others, own, owners }));
const left = fc.nat(2);

describe('the acceptance of a request', () => {
  it('does not depend on others while its owner has less than an equal part', () => {
    fc.assert(
      fc.property(crowds, left, (crowd, left) => {
        fc.pre(crowd.inFlight < bounds.burst + bounds.max && crowd.own < bounds.max / crowd.owners);
        expect(takes(crowd, bounds, left)).toBe('room');
      }),
    );
  });

  it('refuses the busiest owners first: no owner is refused while one with as much or more is accepted', () => {
    fc.assert(
      fc.property(crowds, fc.nat(120), left, (crowd, more, left) => {
        fc.pre(takes({ ...crowd, own: crowd.own + more }, bounds, left) !== null);
        expect(takes(crowd, bounds, left)).not.toBeNull();
      }),
    );
  });

  it('ends at the bound of bursts for owners who have their part, and above it for everyone', () => {
    fc.assert(
      fc.property(crowds, left, (crowd, left) => {
        const own = Math.max(crowd.own, bounds.max / crowd.owners);
        expect(takes({ ...crowd, own, inFlight: bounds.burst + own }, bounds, left)).toBeNull();
        expect(takes({ ...crowd, inFlight: bounds.burst + bounds.max + crowd.own }, bounds, left)).toBeNull();
      }),
    );
  });
});

describe('a crowd', () => {
  const inBursts = bounds.max * BURST_REQUESTS;
  /** @returns those of so many that are taken, all from one team */
  const fill = (work: WorkInFlight, count: number, team = 'acme'): Flight[] =>
    Array.from({ length: count }, () => work.begin(team)).filter((flight) => flight !== null);
  /** One whose burst is used up: as many as `max` are in flight. */
  const lasting = () => {
    let now = 0;
    const work = workInFlight(bounds, () => now, setImmediate);
    const flights = fill(work, bounds.max);
    for (let taken = 0; taken < inBursts; taken += 1) fill(work, 1)[0]?.end();
    const pass = (ms: number): void => {
      now += ms;
    };
    return { work, flights, pass };
  };

  it('is a burst at first: eight times as much is in flight, for any duration', () => {
    let now = 0;
    const work = workInFlight(bounds, () => now, setImmediate);

    const flights = fill(work, 2 * bounds.burst);
    expect(flights).toHaveLength(bounds.burst);
    now += 60_000;
    for (const flight of flights.splice(0, 10)) flight.end();

    expect(fill(work, 2 * bounds.burst)).toHaveLength(10);
  });

  it('of one owner leaves others their part beside its burst', () => {
    const work = workInFlight(bounds, () => 0, setImmediate);
    fill(work, bounds.burst);

    expect(fill(work, 1)).toEqual([]);
    expect(fill(work, bounds.max, 'globex')).toHaveLength(bounds.max / 2);
  });

  it('is no longer a burst after that many requests', () => {
    const { work } = lasting();

    expect(fill(work, 1)).toEqual([]);
    expect(work.begin('globex')).not.toBeNull();
  });

  it('that lasts gets the part of the bound that others do not use', () => {
    const { work, flights } = lasting();
    for (const flight of flights.splice(0, 2)) flight.end();

    expect(fill(work, 5)).toHaveLength(2);
    expect(fill(work, 10, 'globex')).toHaveLength(bounds.max / 2);
  });

  it('counts a request once, even if its sender becomes known during it', () => {
    const { work, flights, pass } = lasting();
    flights.pop()?.end();
    pass(BURST_RECOVERY_MS / inBursts);
    const [filler, last] = fill(work, 5);

    expect([filler?.moveTo('globex'), last?.moveTo('initech'), last?.moveTo('acme')]).toEqual([true, true, true]);
    expect(fill(work, 1)).toEqual([]);
  });

  it('is possible again after enough time without a crowd', () => {
    const { work, flights, pass } = lasting();
    pass(BURST_RECOVERY_MS);
    expect(fill(work, 1)).toEqual([]);
    for (const flight of flights) flight.end();

    pass(BURST_RECOVERY_MS);

    expect(fill(work, 2 * bounds.burst)).toHaveLength(bounds.burst);
  });

  it('does not save up more than one burst', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.boolean(), fc.nat(100_000), (left, isCrowded, now) => {
        const after = recover({ left, at: 0 }, 100, isCrowded, now).left;
        expect(after).toBeGreaterThanOrEqual(left);
        expect(after).toBeLessThanOrEqual(isCrowded ? left : 100);
      }),
    );
  });

  it('excludes requests that were sent much earlier, until there was room for a moment', () => {
    let now = 1_000;
    const work = workInFlight(bounds, () => now, setImmediate);
    const flights = fill(work, 6);
    for (const flight of flights) flight.end();

    expect(work.begin('acme', true)).toBeNull();
    now += 50;
    expect(work.begin('acme', true)).not.toBeNull();
  });
});
