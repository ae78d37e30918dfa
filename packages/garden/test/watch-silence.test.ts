import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { aBookmark, aServer, aVersion, endAll, eventually, watching, watchNumber } from './a-shoot-server.js';

// Sockets are real; the test controls the time.
beforeEach(() => {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'setInterval', 'Date', 'performance'],
  });
});
afterEach(async () => {
  jest.useRealTimers();
  await endAll();
});

const pass = (seconds: number) => jest.advanceTimersByTime(seconds * 1_000);

describe('a silent watch', () => {
  it('is resumed from the last version', async () => {
    const server = await aServer();
    const { reported, states } = await watching(server);
    const first = await watchNumber(server, 1);
    first.send('BOOKMARK', aBookmark('150'));
    first.send('MODIFIED', aVersion('151'));
    await eventually(() => expect(reported).toHaveLength(3));

    pass(151);
    const second = await watchNumber(server, 2);

    expect(second.query.get('resourceVersion')).toBe('151');
    expect(server.lists).toHaveLength(1);
    expect(states.find(({ phase }) => phase === 'waiting')).toMatchObject({
      error: { message: 'unreachable: watch shoots: nothing came for too long' },
    });
  });

  it('is ended only when no bytes arrive: a bookmark is enough', async () => {
    const server = await aServer();
    const { reported } = await watching(server);
    const watch = await watchNumber(server, 1);

    for (let minute = 1; minute <= 4; minute += 1) {
      watch.send('BOOKMARK', aBookmark(String(200 + minute)));
      watch.send('MODIFIED', aVersion(String(300 + minute)));
      await eventually(() => expect(reported).toHaveLength(2 + minute));
      pass(60);
    }

    expect(server.watches).toHaveLength(1);
  });

  it('is not ended while a handler works, and handlers run one at a time', async () => {
    const server = await aServer();
    const work: (() => void)[] = [];
    const seen: string[] = [];
    await watching(server, {
      onEvents: async (events) => {
        await new Promise<void>((resolve) => work.push(resolve));
        seen.push(...events.map(({ shoot }) => shoot.metadata.resourceVersion));
      },
    });
    const watch = await watchNumber(server, 1);
    watch.send('MODIFIED', aVersion('101'));
    await eventually(() => expect(work).toHaveLength(1));
    watch.send('MODIFIED', aVersion('102'));

    for (const [index, version] of ['101', '102'].entries()) {
      await eventually(() => expect(work).toHaveLength(index + 1));
      pass(1_000);
      work[index]?.();
      await eventually(() => expect(seen.at(-1)).toBe(version));
    }

    expect(server.watches).toHaveLength(1);
  });
});

describe('a call that hangs', () => {
  it('ends at its timeout: a list, and the opening of a watch', async () => {
    const server = await aServer();
    const hang = () => {};
    server.nextLists.push(hang);
    server.nextWatches.push(hang);
    // Calls are timed by Node.js itself, which the test does not control.
    const { states } = await watching(server, {}, { timeoutMs: 1_500 });

    await eventually(() => expect(server.watches).toHaveLength(1));
    pass(2);
    await watchNumber(server, 2);

    expect(states.flatMap((state) => (state.phase === 'waiting' ? [String(state.error)] : []))).toEqual([
      'GardenError: unreachable: list shoots: no answer in time',
      'GardenError: unreachable: watch shoots: no answer in time',
    ]);
  });
});
