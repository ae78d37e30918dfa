import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Flight, type FlightBounds, PER_TURN, starts, workInFlight } from './work-in-flight.js';

const bounds: FlightBounds = { max: 12, burst: 96, concurrency: 10 };
const teams = ['acme', 'globex', 'initech', 'hooli'] as const;

type Event = { readonly pause: number; readonly at: number } & (
  | { readonly what: 'comes' | 'moves'; readonly team: (typeof teams)[number] }
  | { readonly what: 'rests' | 'goes on' | 'ends' }
);
const events: fc.Arbitrary<Event[]> = fc.array(
  fc.record({
    pause: fc.nat(40),
    at: fc.nat(1_000),
    team: fc.constantFrom(...teams),
    what: fc.constantFrom('comes', 'comes', 'comes', 'moves', 'rests', 'goes on', 'ends'),
  }) as fc.Arbitrary<Event>,
  { maxLength: 300 },
);

/** Turns of an event loop that end when the test says so. */
function stepwise() {
  let atItsEnd: (() => void)[] = [];
  return {
    atEnd: (begin: () => void): void => void atItsEnd.push(begin),
    end(): void {
      const due = atItsEnd;
      atItsEnd = [];
      for (const begin of due) begin();
    },
  };
}

/** The work of a process, with a count that is computed again for each check. */
function play(through: readonly Event[], look: (counted: number, owners: number) => void): void {
  let now = 0;
  const turns = stepwise();
  const work = workInFlight(bounds, () => now, turns.atEnd);
  const all: { flight: Flight; owner: string; rests: (() => void)[]; ended: boolean }[] = [];
  for (const event of through) {
    now += event.pause;
    const chosen = all[event.at % Math.max(1, all.length)];
    if (event.what === 'comes') {
      const flight = work.begin(event.team);
      if (flight !== null) all.push({ flight, owner: event.team, rests: [], ended: false });
    } else if (chosen !== undefined) {
      if (event.what === 'moves') chosen.owner = chosen.flight.moveTo(event.team) ? event.team : chosen.owner;
      if (event.what === 'rests') chosen.rests.push(chosen.flight.rest());
      if (event.what === 'goes on') chosen.rests.shift()?.();
      if (event.what === 'ends') {
        chosen.flight.end();
        chosen.ended = true;
      }
    }
    const counted = all.filter(({ rests, ended }) => rests.length === 0 && !ended);
    look(counted.length, new Set(counted.map(({ owner }) => owner)).size);
    expect([work.count(), work.owners()]).toEqual([counted.length, new Set(counted.map(({ owner }) => owner)).size]);
  }
  for (const { flight, rests } of all) {
    // A request that disconnects while waiting ends first, and its wait ends later.
    flight.end();
    for (const goOn of rests) {
      goOn();
      goOn();
    }
    flight.end();
  }
  expect([work.count(), work.owners()]).toEqual([0, 0]);
}

describe('the work in flight', () => {
  it('is what was accepted, has not ended and does not wait, and empty at the end, in any order of events', () => {
    fc.assert(fc.property(events, (through) => play(through, () => undefined)));
  });

  it('starts once and in order for every owner who is still connected, and for no other', () => {
    fc.assert(fc.property(events, playTurns));
  });

  it('never exceeds the bound of bursts and one crowd, except for work that returns from a wait', () => {
    const noRests = events.map((through) => through.filter(({ what }) => what !== 'rests'));
    fc.assert(
      fc.property(noRests, (through) =>
        play(through, (count) => expect(count).toBeLessThanOrEqual(bounds.burst + bounds.max)),
      ),
    );
  });
});

/** Work of one kind that ends only in the order of `through`. */
function playTurns(through: readonly Event[]): void {
  const turns = stepwise();
  const work = workInFlight(bounds, () => 0, turns.atEnd);
  const all: { flight: Flight; team: string; begun: number; ended: boolean }[] = [];
  const begun: typeof all = [];
  let ofTurn: typeof all = [];
  const endTurn = (): void => {
    ofTurn = [];
    turns.end();
  };
  for (const { what, at, ...event } of through) {
    if (what === 'comes') {
      const flight = work.begin((event as { team: string }).team);
      if (flight === null) continue;
      const one = { flight, team: (event as { team: string }).team, begun: 0, ended: false };
      all.push(one);
      flight.start(() => {
        expect(one.ended).toBe(false);
        one.begun += 1;
        begun.push(one);
        ofTurn.push(one);
      });
    } else if (what === 'ends') {
      const open = all.filter(({ ended }) => !ended);
      const chosen = open[at % Math.max(1, open.length)];
      if (chosen !== undefined) {
        chosen.ended = true;
        chosen.flight.end();
      }
    } else endTurn();
    for (const team of teams) {
      expect(ofTurn.filter((one) => one.team === team).length).toBeLessThanOrEqual(PER_TURN);
    }
    const inWork = begun.filter(({ ended }) => !ended);
    const owners = new Set(inWork.map(({ team }) => team)).size;
    expect(inWork.length).toBeLessThan(
      bounds.concurrency + owners * Math.ceil(bounds.concurrency / Math.max(1, owners)),
    );
  }
  for (let open = all; open.length > 0; open = all.filter(({ ended }) => !ended)) {
    endTurn();
    const inWork = open.filter(({ begun }) => begun > 0);
    expect(inWork).not.toEqual([]);
    for (const one of inWork) {
      one.ended = true;
      one.flight.end();
    }
  }
  for (const team of teams) {
    const inOrder = all.filter((one) => one.team === team && one.begun > 0);
    expect(begun.filter((one) => one.team === team)).toEqual(inOrder);
    expect(inOrder.every((one) => one.begun === 1)).toBe(true);
  }
}

/** What begins, by its team and in its order. */
function begins(atEnd: (begin: () => void) => void, work: (flight: Flight) => void = () => undefined) {
  const process = workInFlight(bounds, () => 0, atEnd);
  const begun: string[] = [];
  const send = (team: string): Flight => {
    const flight = process.begin(team) as Flight;
    flight.start(() => {
      begun.push(team);
      work(flight);
    });
    return flight;
  };
  return { begun, send };
}

describe('the start of work', () => {
  it('does not depend on the requests of others while its owner has less than an equal part', () => {
    const shops = fc.record({
      own: fc.nat(120),
      others: fc.nat(120),
      owners: fc.integer({ min: 1, max: 40 }),
      ownOfTurn: fc.nat(PER_TURN - 1),
    });
    fc.assert(
      fc.property(shops, ({ own, others, owners, ownOfTurn }) => {
        const isBelowPart = own < bounds.concurrency / owners;
        expect(starts({ working: own + others, own, owners, ownOfTurn, isAccepting: false }, bounds)).toBe(
          isBelowPart || own + others < bounds.concurrency,
        );
      }),
    );
  });

  it('of an owner with a hundred concurrent requests alternates with that of later owners', () => {
    const turns = stepwise();
    const { begun, send } = begins(turns.atEnd);
    const flood = Array.from({ length: 90 }, () => send('acme'));
    for (let turn = 0; turn < bounds.concurrency; turn += 1) turns.end();
    expect(begun).toHaveLength(bounds.concurrency);

    const others = Array.from({ length: 3 }, () => send('globex'));
    expect(begun.slice(bounds.concurrency)).toEqual(['globex', 'globex', 'globex']);
    for (const { end } of [...others, ...flood.slice(0, bounds.concurrency)]) end();
    for (let turn = 0; turn < bounds.concurrency; turn += 1) turns.end();

    expect(begun).toHaveLength(2 * bounds.concurrency + 3);
  });

  it('is limited per turn of the event loop, even if each request ends immediately: others are read in between', () => {
    const turns = stepwise();
    const { begun, send } = begins(turns.atEnd, (flight) => flight.end());
    for (let sent = 0; sent < 40; sent += 1) send('acme');
    const perTurn: number[] = [];

    for (let before = 0; before < begun.length; turns.end()) {
      perTurn.push(begun.length - before);
      before = begun.length;
    }

    expect(perTurn).toEqual(Array.from({ length: 40 / PER_TURN }, () => PER_TURN));
  });

  it('of others is possible in the turn in which one owner began its maximum', () => {
    const { begun, send } = begins(stepwise().atEnd, (flight) => flight.end());
    for (let sent = 0; sent < 40; sent += 1) send('acme');

    send('globex');

    expect(begun.at(-1)).toBe('globex');
  });

  it('after a wait follows the reading of what has arrived in the meantime', () => {
    const turns = stepwise();
    const work = workInFlight(bounds, () => 0, turns.atEnd);
    const flood = Array.from({ length: bounds.concurrency }, () => work.begin('acme') as Flight);
    for (const { start } of flood) start(() => undefined);
    for (const _ of flood) turns.end();
    let hasBegun = false;
    (work.begin('acme') as Flight).start(() => {
      hasBegun = true;
    });

    flood[0]?.end();
    expect(hasBegun).toBe(false);
    turns.end();

    expect(hasBegun).toBe(true);
  });
});
