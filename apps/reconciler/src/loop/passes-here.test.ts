import { asClusterId, type ClusterId } from '@corral/contracts';
import { silentLog } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { passesHere } from './passes-here.js';

const [one, other, third] = ['one', 'other', 'third'].map(asClusterId) as [ClusterId, ClusterId, ClusterId];
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Passes that last until they are ended. */
function started(max = 2) {
  const runs: ClusterId[] = [];
  const left: ClusterId[] = [];
  const leave = async (id: ClusterId) => void left.push(id);
  const ends = new Map<ClusterId, (error?: Error) => void>();
  const here = passesHere<ClusterId>({ max, leave, log: silentLog });
  here.start((id, stop) => {
    runs.push(id);
    return new Promise((resolve, reject) => {
      ends.set(id, (error) => (error === undefined ? resolve() : reject(error)));
      stop.addEventListener('abort', () => resolve());
    });
  });
  return { here, runs, left, end: (id: ClusterId, error?: Error) => ends.get(id)?.(error) };
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

  it('leave what was asked for meanwhile to a job when they fail', async () => {
    const { here, runs, left, end } = started();
    here.take(one);
    await turn();
    here.join(one);
    end(one, new Error('the database is away'));
    await turn();

    expect(left).toEqual([one]);
    expect(runs).toEqual([one]);
    await here.close();
  });

  it('are not taken before the start and after the end, which stops those that run', async () => {
    const early = passesHere<ClusterId>({ max: 1, leave: async () => undefined, log: silentLog });
    expect(early.take(one)).toBe(false);

    const { here, runs } = started();
    here.take(one);
    await turn();
    await here.close();

    expect(here.take(other)).toBe(false);
    expect(runs).toEqual([one]);
  });

  it('are joined by those who ask while one is under way, and by nobody else', async () => {
    const { here, runs, end } = started(1);
    expect(here.join(one)).toBe(false);
    here.take(one);
    await turn();

    expect([here.join(one), here.join(other)]).toEqual([true, false]);
    end(one);
    await turn();
    expect(runs).toEqual([one, one]);
    end(one);
    await turn();

    expect(here.join(one)).toBe(false);
    await here.close();
  });

  it('are not repeated for what was asked for before the row was being freed', async () => {
    const { here, runs, end } = started();
    here.take(one);
    await turn();
    here.join(one);
    const freed = here.freeing(one);

    freed();
    end(one);
    await turn();

    expect(runs).toEqual([one]);
    await here.close();
  });

  it('are repeated for what was asked for while the row was being freed', async () => {
    const { here, runs, end } = started();
    here.take(one);
    await turn();
    here.join(one);
    const freed = here.freeing(one);
    here.join(one);

    freed();
    end(one);
    await turn();

    expect(runs).toEqual([one, one]);
    await here.close();
  });

  it('are repeated if the row was not freed', async () => {
    const { here, runs, end } = started();
    here.take(one);
    await turn();
    here.join(one);
    here.freeing(one);

    end(one);
    await turn();

    expect(runs).toEqual([one, one]);
    await here.close();
  });

  it('leave what is still asked for to other processes at the end', async () => {
    const { here, runs, left } = started();
    here.take(one);
    here.take(other);
    await turn();
    here.join(one);

    await here.close();

    expect(left).toEqual([one]);
    expect(runs).toEqual([one, other]);
  });
});
