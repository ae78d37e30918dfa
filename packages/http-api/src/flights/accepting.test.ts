import { describe, expect, it } from '@jest/globals';
import { ACCEPTING_TURNS, PER_TURN, workInFlight } from './work-in-flight.js';

/** Work that never ends, in an event loop whose turns end when the test says so. */
function start() {
  let due: (() => void)[] = [];
  const work = workInFlight(
    { max: 32, burst: 256, concurrency: 10 },
    () => 0,
    (begin) => void due.push(begin),
  );
  const started: string[] = [];
  return {
    started,
    send: (owner: string) => work.begin(owner)?.start(() => void started.push(owner)),
    turn({ accepts }: { readonly accepts: boolean }): void {
      if (accepts) work.accepted();
      const ending = due;
      due = [];
      for (const end of ending) end();
    },
    isAsleep: () => due.length === 0,
  };
}

describe('while connections are accepted', () => {
  it('no more work of a busy owner starts, and that of others does', () => {
    const { started, send, turn } = start();
    turn({ accepts: true });

    for (let sent = 0; sent < 3; sent += 1) send('acme');
    turn({ accepts: true });
    send('globex');
    expect(started).toEqual(['acme', 'globex']);

    turn({ accepts: false });
    expect(started).toEqual(['acme', 'globex', 'acme', 'acme']);
  });

  it('work starts in some of the turns, however many connections come', () => {
    const { started, send, turn } = start();
    turn({ accepts: true });
    for (let sent = 0; sent < 9; sent += 1) send('acme');

    for (let turns = 0; turns < 2 * ACCEPTING_TURNS; turns += 1) turn({ accepts: true });

    expect(started).toHaveLength(1 + 2 * PER_TURN);
  });

  it('work starts before the burst is so large that requests are refused', () => {
    const { started, send, turn } = start();
    turn({ accepts: true });
    for (let sent = 0; sent < 223; sent += 1) send('acme');
    turn({ accepts: true });
    expect(started).toHaveLength(1);

    send('acme');
    turn({ accepts: true });

    expect(started.length).toBeGreaterThan(1);
  });

  it('the event loop turns once more after the last one, and then rests', () => {
    const { turn, isAsleep } = start();
    turn({ accepts: true });
    expect(isAsleep()).toBe(false);

    turn({ accepts: false });
    expect(isAsleep()).toBe(true);
  });
});
