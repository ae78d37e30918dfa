import { asClusterId, type ClusterId } from '@corral/contracts';
import { silentLog } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { passesHere } from './passes-here.js';

const [one, other, third] = ['one', 'other', 'third'].map(asClusterId) as [ClusterId, ClusterId, ClusterId];
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Passes that last until they are ended. */
function started(max = 2) {
  const runs: ClusterId[] = [];
  const ends = new Map<ClusterId, (error?: Error) => void>();
  const here = passesHere<ClusterId>({ max, log: silentLog });
  here.start((id, stop) => {
    runs.push(id);
    return new Promise((resolve, reject) => {
      ends.set(id, (error) => (error === undefined ? resolve() : reject(error)));
      stop.addEventListener('abort', () => resolve());
    });
  });
  return { here, runs, end: (id: ClusterId, error?: Error) => ends.get(id)?.(error) };
}

describe('passes in this process', () => {
  it('are taken up to a number, and again when one has ended', async () => {
    const { here, runs, end } = started();

    expect([one, other, third].map(here.take)).toEqual([true, true, false]);
    await turn();
    end(one);
    await turn();

    expect(here.take(third)).toBe(true);
    await turn();
    expect(runs).toEqual([one, other, third]);
    await here.close();
  });

  it('follow each other over a row that is asked for meanwhile, once', async () => {
    const { here, runs, end } = started();
    here.take(one);
    await turn();

    expect([here.take(one), here.take(one)]).toEqual([true, true]);
    await turn();
    expect(runs).toEqual([one]);
    end(one);
    await turn();
    expect(runs).toEqual([one, one]);
    end(one);
    await turn();

    expect(runs).toEqual([one, one]);
    await here.close();
  });

  it('are one for a row that is asked for twice before it starts', async () => {
    const { here, runs } = started();

    here.take(one);
    here.take(one);
    await turn();

    expect(runs).toEqual([one]);
    await here.close();
  });

  it('give their place back when they fail', async () => {
    const { here, runs, end } = started(1);
    here.take(one);
    await turn();
    end(one, new Error('the database is away'));
    await turn();

    expect(here.take(other)).toBe(true);
    await turn();

    expect(runs).toEqual([one, other]);
    await here.close();
  });

  it('are not taken before the start and after the end, which stops those that run', async () => {
    const early = passesHere<ClusterId>({ max: 1, log: silentLog });
    expect(early.take(one)).toBe(false);

    const { here, runs } = started();
    here.take(one);
    await turn();
    await here.close();

    expect(here.take(other)).toBe(false);
    expect(runs).toEqual([one]);
  });
});
