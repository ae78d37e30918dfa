import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { answerJson, aStatus } from './a-garden.js';
import {
  aBookmark,
  aServer,
  aVersion,
  endAll,
  eventually,
  type ShootServer,
  watching,
  watchNumber,
} from './a-shoot-server.js';

// Random waits are short and constant here.
beforeEach(() => void jest.spyOn(Math, 'random').mockReturnValue(0.05));
afterEach(() => {
  jest.restoreAllMocks();
});
afterEach(endAll);

describe('a watch', () => {
  it('delivers all pages of a list, then that it is complete, then changes', async () => {
    const server = await aServer();
    server.shoots = ['c1', 'c2', 'c3'].map((name) => aVersion('1', name));
    const { reported } = await watching(server, { pageSize: 2 });

    const watch = await watchNumber(server, 1);
    watch.send('ADDED', aVersion('101', 'c4'));
    watch.send('MODIFIED', aVersion('102', 'c1'));
    watch.send('DELETED', aVersion('103', 'c2'));

    await eventually(() =>
      expect(reported).toEqual(['page c1,c2', 'page c3', 'listed', 'changed c4@101', 'changed c1@102', 'gone c2@103']),
    );
    expect(server.lists.map((query) => Object.fromEntries(query))).toEqual([
      { labelSelector: 'corral.dev/managed=true', limit: '2' },
      { labelSelector: 'corral.dev/managed=true', limit: '2', continue: '2' },
    ]);
    expect(Object.fromEntries(watch.query)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      labelSelector: 'corral.dev/managed=true',
      resourceVersion: '100',
      timeoutSeconds: expect.stringMatching(/^\d+$/),
    });
  });

  it('resumes from the newest version, of an event or of a bookmark, when the garden ends it', async () => {
    const server = await aServer();
    const { reported } = await watching(server);

    const first = await watchNumber(server, 1);
    first.send('MODIFIED', aVersion('101'));
    first.response.end();
    const second = await watchNumber(server, 2);
    second.send('BOOKMARK', aBookmark('150'));
    second.response.end();
    const third = await watchNumber(server, 3);

    expect([second, third].map(({ query }) => query.get('resourceVersion'))).toEqual(['101', '150']);
    expect(server.lists).toHaveLength(1);
    expect(reported).toEqual(['page ', 'listed', 'changed c1234567@101']);
  });
});

describe('a watch whose version is too old', () => {
  it('lists again when the garden answers 410', async () => {
    const server = await aServer();
    server.nextWatches.push((_, response) => answerJson(response, 410, aStatus(410, 'Expired', 'too old')));
    const { reported } = await watching(server);

    await watchNumber(server, 2);

    expect(reported).toEqual(['page ', 'listed', 'page ', 'listed']);
  });

  it('lists again when the garden sends 410 inside the stream', async () => {
    const server = await aServer();
    const { reported, logged } = await watching(server);

    const watch = await watchNumber(server, 1);
    watch.send('MODIFIED', aVersion('101'));
    watch.send('ERROR', aStatus(410, 'Expired', 'too old resource version: 1 (5)'));
    const next = await watchNumber(server, 2);

    expect(reported).toEqual(['page ', 'listed', 'changed c1234567@101', 'page ', 'listed']);
    expect(next.query.get('resourceVersion')).toBe('100');
    expect(logged.join()).toContain('expired: watch shoots: 410 Expired');
  });
});

describe('the list of a watch', () => {
  it('is repeated periodically and finds what no event announced', async () => {
    const server = await aServer();
    server.shoots = [aVersion('1', 'c1'), aVersion('1', 'c2')];
    const { reported } = await watching(server, { relistEveryMs: 1 });
    await watchNumber(server, 1);

    server.shoots = [aVersion('1', 'c2')];
    server.watches[0]?.response.end();

    await eventually(() => expect(reported).toEqual(expect.arrayContaining(['page c1,c2', 'page c2'])));
  });

  it('continues with newer data when its snapshot has expired', async () => {
    const server = await aServer();
    server.shoots = ['c1', 'c2', 'c3'].map((name) => aVersion('1', name));
    server.nextLists.push(
      (_, response) =>
        answerJson(response, 200, {
          metadata: { resourceVersion: '90', continue: 'old' },
          items: [aVersion('1', 'c1')],
        }),
      (_, response) => answerJson(response, 410, aStatus(410, 'Expired', 'too old', {}, { continue: '1' })),
    );
    const { reported } = await watching(server, { pageSize: 1 });

    await watchNumber(server, 1);

    expect(reported).toEqual(['page c1', 'page c2', 'page c3', 'listed']);
  });
});

describe('a watch that fails', () => {
  const faults: [string, (response: ServerResponse) => void][] = [
    ['is reset within an event', (response) => response.write('{"type": "MODIFIED", "ob', () => response.destroy())],
    ['ends within an event', (response) => response.end('{"type": "MODIFIED", "ob')],
    ['brings what is no JSON', (response) => response.write('<html>\n')],
    ['brings an event without metadata', (response) => response.write('{"type": "ADDED", "object": {}}\n')],
    ['brings a line that never ends', (response) => response.write('x'.repeat(2_000_000))],
    [
      'brings an error',
      (response) =>
        response.write(`${JSON.stringify({ type: 'ERROR', object: aStatus(500, 'InternalError', 'x') })}\n`),
    ],
  ];

  it.each(faults)('because it %s is retried', async (_what, fault) => {
    const server = await aServer();
    const { reported } = await watching(server);

    fault((await watchNumber(server, 1)).response);
    (await watchNumber(server, 2)).send('MODIFIED', aVersion('105'));

    await eventually(() => expect(reported.at(-1)).toBe('changed c1234567@105'));
  });

  it.each([
    [401, aStatus(401, 'Unauthorized', 'Unauthorized')],
    [404, '404 page not found'],
    [429, 'Too many requests'],
    [504, aStatus(504, 'Timeout', 'Too large resource version: 9, current: 1')],
  ])('with %i is retried', async (status, body) => {
    const server = await aServer();
    server.nextWatches.push((_, response) => {
      response.writeHead(status, { 'Retry-After': '0' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    const { reported } = await watching(server);

    (await watchNumber(server, 2)).send('MODIFIED', aVersion('105'));

    await eventually(() => expect(reported.at(-1)).toBe('changed c1234567@105'));
  });

  it('does not reconnect in a tight loop to a garden that ends every watch immediately', async () => {
    const server = await aServer();
    server.nextWatches.push(...Array(1_000).fill((_: unknown, response: { end(): void }) => response.end()));
    const { states } = await watching(server);

    const delays = () => states.flatMap((state) => (state.phase === 'waiting' ? [state.delayMs] : []));
    await eventually(() => expect(delays().length).toBeGreaterThan(4));

    expect(delays().slice(0, 5)).toEqual([25, 50, 100, 125, 125]);
  });
});

const changed = (version: string, name: string): string =>
  JSON.stringify({ type: 'MODIFIED', object: aVersion(version, name) });

describe('a handler', () => {
  it('that fails receives the same events again', async () => {
    const server = await aServer();
    const seen: string[] = [];
    const { reported, logged } = await watching(server, {
      onEvents: (events) => {
        seen.push(...events.map(({ shoot }) => shoot.metadata.resourceVersion));
        if (seen.includes('102')) throw new Error('the database is away');
      },
    });

    const first = await watchNumber(server, 1);
    first.send('MODIFIED', aVersion('101'));
    await eventually(() => expect(seen).toEqual(['101']));
    first.send('MODIFIED', aVersion('102'));
    const second = await watchNumber(server, 2);

    expect(second.query.get('resourceVersion')).toBe('101');
    expect(seen).toEqual(['101', '102']);
    expect(reported).toEqual(['page ', 'listed']);
    expect(logged.join()).toContain('the database is away');
  });

  it('receives only the last of several changes of a Shoot that came together', async () => {
    const server = await aServer();
    const seen: string[][] = [];
    await watching(server, {
      onEvents: (events) => void seen.push(events.map(({ shoot }) => shoot.metadata.resourceVersion)),
    });

    const first = await watchNumber(server, 1);
    first.response.write(`${[changed('101', 'c1'), changed('102', 'c2'), changed('103', 'c1')].join('\n')}\n`);

    await eventually(() => expect(seen).toEqual([['102', '103']]));
  });

  it('of a page that fails causes another list', async () => {
    const server = await aServer();
    server.shoots = [aVersion('1', 'c1')];
    let pages = 0;
    const { reported } = await watching(server, {
      onPage: () => {
        pages += 1;
        if (pages === 1) return Promise.reject(new Error('the database is away'));
        return undefined;
      },
    });

    await watchNumber(server, 1);

    expect([pages, reported]).toEqual([2, ['listed']]);
  });
});

describe('the end of a watch', () => {
  const hang = () => {};
  const phases: [string, (server: ShootServer) => unknown, (server: ShootServer) => boolean][] = [
    ['while it lists', (server) => server.nextLists.push(hang), (server) => server.lists.length > 0],
    ['while it opens', (server) => server.nextWatches.push(hang), (server) => server.watches.length > 0],
    ['while it watches', () => undefined, (server) => server.watches.length > 0],
    [
      'while it waits',
      (server) => server.nextLists.push((_, response) => answerJson(response, 429, {}, { 'Retry-After': '100' })),
      (server) => server.lists.length > 0,
    ],
  ];

  it.each(phases)('follows its signal, and the close of the client, %s', async (_what, prepare, reached) => {
    for (const how of ['signal', 'close']) {
      const server = await aServer();
      prepare(server);
      const { ended, stop, client } = await watching(server);
      await eventually(() => expect(reached(server)).toBe(true));

      if (how === 'signal') stop.abort();
      else await client.close();

      await expect(ended).resolves.toBeUndefined();
    }
  });
});

describe('as time passes', () => {
  // Sockets are real; the test controls the time.
  const real = ['nextTick', 'setImmediate', 'queueMicrotask', 'setInterval', 'Date'] as const;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: [...real, 'performance'] });
  });
  afterEach(async () => {
    jest.useRealTimers();
    await endAll();
  });

  const pass = (seconds: number) => jest.advanceTimersByTime(seconds * 1_000);

  it('a silent watch is resumed from the last version', async () => {
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

  it('a call that hangs ends at its timeout: a list, and the opening of a watch', async () => {
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

  it('a watch that the garden does not end in time is ended by the client, even if events arrive', async () => {
    jest.useFakeTimers({ doNotFake: [...real] });
    const server = await aServer();
    const { reported } = await watching(server, { relistEveryMs: 100_000_000, watchSeconds: 300 });
    const watch = await watchNumber(server, 1);
    const agreedSeconds = Number(watch.query.get('timeoutSeconds'));

    for (let sent = 1; sent * 100 <= agreedSeconds + 200; sent += 1) {
      if (server.watches.length === 1) watch.send('MODIFIED', aVersion(String(100 + sent)));
      if (sent * 100 < agreedSeconds) await eventually(() => expect(reported).toHaveLength(2 + sent));
      jest.advanceTimersByTime(100_000);
    }
    const next = await watchNumber(server, 2);

    expect(next.query.get('resourceVersion')).not.toBe('100');
    expect(server.lists).toHaveLength(1);
  });
});
