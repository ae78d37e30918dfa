import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describeNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freshState } from '../../src/budget/account.js';
import { BudgetBusy, type Change, connectBudgetStore } from '../../src/budget/budget-store.js';
import { aProject, postgresPlace, redisPlace, type TestPlace } from './test-stores.js';

const places: [string, TestPlace | null][] = [
  ['Postgres', await postgresPlace()],
  ['Redis', await redisPlace()],
];
afterAll(async () => {
  for (const [, place] of places) await place?.stop();
});

/** Increments a number in the state, and returns the previous one. */
const countOne: Change<number> = (state, now) => {
  const before = state ?? freshState({ epoch: 'e', now, limit: 3_600 });
  return { state: { ...before, ended: before.ended + 1 }, answer: before.ended };
};

for (const [name, place] of places) {
  describeNeeding(describe, place === null ? missingRedis() : null, `a store on ${name}`, () => {
    const at = place as TestPlace;
    let project: string;
    beforeEach(() => {
      project = aProject();
    });

    it('is empty first, and keeps what was stored', async () => {
      const store = await at.connect();

      const answers = [await store.update(project, countOne), await store.update(project, countOne)];

      expect(answers).toEqual([0, 1]);
      await store.close();
    });

    it('loses no change when many processes change it concurrently', async () => {
      const stores = await Promise.all([at.connect(), at.connect(), at.connect()]);

      const counts = stores.map(async (store) => {
        const counted: number[] = [];
        while (counted.length < 20) {
          // On a busy machine a change may find no moment between those of others. Then nothing was changed.
          const before = await store.update(project, countOne).catch((error) => {
            if (!(error instanceof BudgetBusy)) throw error;
            return null;
          });
          if (before !== null) counted.push(before);
        }
        return counted;
      });

      const all = (await Promise.all(counts)).flat().sort((one, other) => one - other);
      expect(all).toEqual(Array.from({ length: 60 }, (_, index) => index));
      await Promise.all(stores.map((store) => store.close()));
    });

    it.each([['no JSON'], ['null'], ['{"form":99,"ended":5}']])('treats %s as empty', async (text) => {
      const store = await at.connect();
      await at.spoil(project, text);

      expect(await store.readAll()).not.toHaveProperty(project);
      expect(await store.update(project, countOne)).toBe(0);
      await store.close();
    });

    it('notices that everything was lost, and that others have begun anew', async () => {
      const [store, other] = await Promise.all([at.connect(), at.connect()]);
      for (let time = 0; time < 3; time += 1) await store.update(project, countOne);

      await at.wipe();
      for (let time = 0; time < 3; time += 1) await other.update(project, countOne);

      expect(await store.update(project, countOne)).toBe(3);
      await Promise.all([store.close(), other.close()]);
    });

    it('shows the current budgets of all projects to every reader', async () => {
      const store = await at.connect();
      await store.update(project, (_state, now) => ({
        state: freshState({ epoch: 'e', now: now - 10_000, limit: 3_600, level: 100 }),
        answer: null,
      }));

      const other = await at.connect();
      const { [project]: reading } = await other.readAll();

      expect(reading).toMatchObject({ limit: 3_600, waiting: { write: 0 } });
      expect(reading?.remaining).toBeGreaterThanOrEqual(108);
      await Promise.all([store.close(), other.close()]);
    });
  });
}

describe('a store whose account others change all the time', () => {
  it('gives up, and says that it was not away', async () => {
    let version = 1;
    const sent: unknown[] = [];
    const query = async ({ values }: { values: unknown[] }) => {
      sent.push(values[1]);
      return { rows: [{ now: 1_000, state: null, written: null, version: ++version }] };
    };
    const store = connectBudgetStore({ redisUrl: undefined, database: { query }, onError: () => undefined });

    await expect(store.update('p', countOne)).rejects.toThrow(BudgetBusy);

    expect(new Set(sent).size).toBe(sent.length);
  });
});

/** Passes everything on to a Redis, until its connections die without a word. New ones work. */
async function proxyOf(url: string) {
  const pairs: [Socket, Socket][] = [];
  const server = createServer((socket) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1');
    pairs.push([socket, upstream]);
    socket.pipe(upstream).pipe(socket);
    for (const each of [socket, upstream]) each.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    silence: () => {
      for (const [socket, upstream] of pairs) socket.unpipe(upstream);
    },
    close: () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
    },
  };
}

describeNeeding(describe, missingRedis(), 'a store on Redis whose connection has died silently', () => {
  it('fails soon, and works again over a new connection', async () => {
    const server = (await redisForTests()) as TestRedis;
    const proxy = await proxyOf(server.url);
    const database = { query: () => Promise.reject(new Error('unused')) };
    const store = connectBudgetStore({ redisUrl: proxy.url, database, onError: () => undefined });
    const project = aProject();
    await store.update(project, countOne);

    proxy.silence();

    await expect(store.update(project, countOne)).rejects.toThrow();
    await waitFor('an answer', async () => (await store.update(project, countOne).catch(() => 0)) > 0);
    await store.close();
    proxy.close();
    await server.stop();
  });
});
