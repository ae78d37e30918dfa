import { CorralError } from '@corral/client';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyChanges, type Failure, type Outcomes, type SetApi } from '../src/apply.js';
import { isSame, type SetChange, type SetContent } from '../src/plan.js';
import { classifyFailure } from '../src/record-set-api.js';

class Fails extends Error {
  constructor(readonly failure: Failure) {
    super(failure.detail);
  }
}
const content = (value: string, ttl: number | null = null, labels = {}): SetContent => ({
  records: [{ value, comment: null }],
  ttl,
  labels,
});
const changeOf = (key: string, from: SetContent | null, to: SetContent | null): SetChange => {
  const [name, type] = key.split(' ') as [string, string];
  return { key, name, type, from, to };
};

interface Zone {
  readonly sets: Map<string, SetContent>;
  readonly calls: string[];
  readonly api: SetApi;
}

/** @param interfere asked before and after each request with its name; may throw, or change the zone */
function zoneOf(
  initial: readonly [string, SetContent][],
  interfere: (when: string, call: string) => void = () => undefined,
): Zone {
  const sets = new Map(initial);
  const calls: string[] = [];
  const request = (what: string, key: string, effect: () => void): Promise<number | null> => {
    const call = `${what} ${key}`;
    calls.push(call);
    interfere('before', call);
    effect();
    interfere('after', call);
    return Promise.resolve(1);
  };
  const patch = (key: string, changed: Partial<SetContent>) =>
    sets.set(key, { ...(sets.get(key) as SetContent), ...changed });
  const keyOf = ({ name, type }: { name: string; type: string }) => `${name} ${type}`;
  const api: SetApi = {
    read: async (id) => {
      interfere('before', `read ${keyOf(id)}`);
      return sets.get(keyOf(id)) ?? null;
    },
    create: async (id, made) => request('create', keyOf(id), () => sets.set(keyOf(id), made)),
    setRecords: async (id, records) => request('set_records', keyOf(id), () => patch(keyOf(id), { records })),
    changeTtl: async (id, ttl) => request('change_ttl', keyOf(id), () => patch(keyOf(id), { ttl })),
    changeLabels: async (id, labels) => request('labels', keyOf(id), () => patch(keyOf(id), { labels })),
    remove: async (id) => request('remove', keyOf(id), () => sets.delete(keyOf(id))),
    untilEnded: async () => null,
  };
  return { sets, calls, api };
}

async function apply(waves: SetChange[][], api: SetApi, { outcomes = {}, signal = new AbortController().signal } = {}) {
  const latest: Record<string, Outcomes[string]> = { ...outcomes };
  const slept: number[] = [];
  const stopped = await applyChanges({
    waves,
    outcomes,
    api,
    classify: (error) => {
      if (error instanceof Fails) return error.failure;
      throw error;
    },
    onOutcome: (key, outcome) => {
      latest[key] = outcome;
    },
    signal,
    sleep: async (ms) => void slept.push(ms),
  });
  const states = Object.fromEntries(Object.entries(latest).map(([key, { state }]) => [key, state]));
  return { stopped, latest, states, slept };
}

describe('applying a plan of record sets', () => {
  it('sends only the parts that differ, and waits for each', async () => {
    const { api, calls, sets } = zoneOf([
      ['w A', content('1', 60)],
      ['x A', content('1')],
    ]);
    const to = content('2', 90, { env: 'prod' });
    const { states } = await apply(
      [[changeOf('w A', content('1', 60), to), changeOf('x A', content('1'), content('1', 60))]],
      api,
    );

    expect(calls.sort()).toEqual(['change_ttl w A', 'change_ttl x A', 'labels w A', 'set_records w A']);
    expect(sets.get('w A')).toEqual(to);
    expect(states).toEqual({ 'w A': 'done', 'x A': 'done' });
  });

  it('skips a set that somebody changed since the plan, and shows what it is now', async () => {
    const { api, calls } = zoneOf([['w A', content('foreign')]]);
    const plan = [changeOf('w A', content('1'), content('2')), changeOf('gone A', content('1'), content('2'))];
    const { latest } = await apply([plan], api);

    expect(calls).toEqual([]);
    expect(latest['w A']).toMatchObject({ state: 'skipped', found: content('foreign') });
    expect(latest['gone A']).toMatchObject({ state: 'skipped', found: null });
  });

  it('continues after a refused set, and ends when the session has ended', async () => {
    const failures: Record<string, Failure> = {
      'create b A': { kind: 'refused', detail: 'no' },
      'create d A': { kind: 'stop', detail: 'Sign in.' },
    };
    const { api } = zoneOf([], (when, call) => {
      const failure = failures[call];
      if (when === 'before' && failure !== undefined) throw new Fails(failure);
    });
    const wave = (key: string) => [changeOf(key, null, content('1'))];
    const { states, stopped } = await apply(['a A', 'b A', 'c A', 'd A', 'e A'].map(wave), api);

    expect(states).toEqual({ 'a A': 'done', 'b A': 'refused', 'c A': 'done', 'd A': 'waiting' });
    expect(stopped).toBe('Sign in.');
  });

  it('waits for the time of a Retry-After with all requests', async () => {
    let asked = 0;
    const { api } = zoneOf([], (when, call) => {
      if (when === 'before' && call.startsWith('create')) {
        asked += 1;
        if (asked === 1) throw new Fails({ kind: 'wait', seconds: 7, detail: 'later' });
      }
    });
    const { states, slept } = await apply([[changeOf('a A', null, content('1'))]], api);

    expect([states['a A'], slept]).toEqual(['done', [7_000]]);
  });

  it('leaves a set unknown whose outcome cannot be found out, and what relies on it alone', async () => {
    const { api } = zoneOf([['a TXT', content('1')]], () => {
      throw new Fails({ kind: 'unknown', detail: 'no answer' });
    });
    const waves = [[changeOf('a TXT', content('1'), null)], [changeOf('a CNAME', null, content('x'))]];
    const { states } = await apply(waves, api);

    expect(states).toEqual({ 'a TXT': 'unknown' });
  });

  it('removes nothing before every addition and change that comes before is written, whatever happens', async () => {
    const kinds = fc.constantFrom<Failure['kind'] | 'none'>('none', 'none', 'refused', 'unknown', 'wait', 'stop');
    const change = fc.constantFrom('add', 'change', 'remove');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uniqueArray(change, { minLength: 1 }), { minLength: 1, maxLength: 4 }),
        fc.array(kinds, { maxLength: 30 }),
        async (shape, failures) => {
          const waves = shape.map((wave, at) =>
            // A wave has either removals or others.
            wave
              .filter((what) => (what === 'remove') === (wave[0] === 'remove'))
              .map((what) =>
                changeOf(
                  `${what}${at} A`,
                  what === 'add' ? null : content('1'),
                  what === 'remove' ? null : content('2'),
                ),
              ),
          );
          const all = waves.flat();
          const next = failures.values();
          const { api, sets } = zoneOf(
            all.flatMap(({ key, from }): [string, SetContent][] => (from === null ? [] : [[key, from]])),
            (when) => {
              const kind = when === 'before' ? (next.next().value ?? 'none') : 'none';
              if (kind === 'wait') throw new Fails({ kind, seconds: 1, detail: '' });
              if (kind !== 'none') throw new Fails({ kind, detail: '' });
            },
          );
          await apply(waves, api);

          for (const [at, wave] of waves.entries()) {
            const before = waves
              .slice(0, at)
              .flat()
              .filter(({ to }) => to !== null);
            const isWritten = before.every(({ key, to }) => isSame(sets.get(key) ?? null, to));
            const lost = wave.filter(({ key, to }) => to === null && !sets.has(key));
            expect(lost.length === 0 || isWritten).toBe(true);
          }
        },
      ),
    );
  });

  it('reaches every target in the end, whatever was interrupted, unless somebody else changed the set', async () => {
    const some = fc.option(fc.record({ value: fc.constantFrom('1', '2'), ttl: fc.constantFrom(null, 60) }));
    const pair = fc.record({ from: some, to: some });
    const trouble = fc.constantFrom(
      'none',
      'none',
      'none',
      'lost before',
      'lost after',
      'wait',
      'pause',
      'foreign',
      'stop',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(pair, { minLength: 1, maxLength: 8 }),
        fc.array(trouble, { maxLength: 40 }),
        async (pairs, troubles) => {
          const made = (each: { value: string; ttl: number | null } | null) =>
            each === null ? null : content(each.value, each.ttl);
          const plan = pairs.map(({ from, to }, index) => changeOf(`n${index} A`, made(from), made(to)));
          const initial = plan.flatMap(({ key, from }): [string, SetContent][] => (from === null ? [] : [[key, from]]));
          const foreign = new Set<string>();
          let pausing = new AbortController();
          const next = troubles.values();
          const zone = zoneOf(initial, (when, call) => {
            const what = next.next().value;
            if (what === 'pause') pausing.abort();
            if (what === 'wait' && when === 'before') throw new Fails({ kind: 'wait', seconds: 1, detail: 'later' });
            if (what === 'stop' && when === 'before') throw new Fails({ kind: 'stop', detail: 'signed out' });
            if (what === `lost ${when}`) throw new Fails({ kind: 'unknown', detail: 'lost' });
            if (what === 'foreign' && call.startsWith('read')) {
              const key = call.slice('read '.length);
              foreign.add(key);
              zone.sets.set(key, content('foreign'));
            }
          });
          let outcomes: Outcomes = {};
          for (let run = 0; run < 60; run += 1) {
            pausing = new AbortController();
            const { latest } = await apply([plan], zone.api, { outcomes, signal: pausing.signal });
            outcomes = latest;
            const states = plan.map(({ key }) => outcomes[key]?.state);
            if (states.every((state) => state === 'done' || state === 'skipped')) break;
          }

          for (const { key, to } of plan) {
            const state = outcomes[key]?.state;
            if (foreign.has(key)) expect(['done', 'skipped']).toContain(state);
            else expect([key, state, isSame(zone.sets.get(key) ?? null, to)]).toEqual([key, 'done', true]);
            if (state === 'skipped') expect(zone.sets.get(key)).toEqual(content('foreign'));
          }
        },
      ),
    );
  });
});

const refusal = (detail: string, ...messages: string[]) =>
  classifyFailure(
    new CorralError({
      status: 422,
      code: 'invalid_input',
      detail,
      errors: messages.map((message) => ({ pointer: '/ttl', message })),
    }),
    'Sign in.',
  );

describe('a refused request', () => {
  it.each<[detail: string, messages: string[], said: string]>([
    ["invalid value 'x'", ["invalid value 'x'"], "invalid value 'x'"],
    [
      "invalid input in field 'ttl': must be 60 at least",
      ['must be 60 at least'],
      "invalid input in field 'ttl': must be 60 at least",
    ],
    [
      'Some fields are invalid.',
      ['a is wrong.', 'b is wrong.', 'a is wrong.'],
      'Some fields are invalid. a is wrong. b is wrong.',
    ],
    ['Not allowed.', [], 'Not allowed.'],
  ])('says everything once: %s', (detail, messages, said) => {
    expect(refusal(detail, ...messages)).toEqual({ kind: 'refused', detail: said });
  });
});
