import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Shoot } from '../src/index.js';
import { answerJson, aStatus } from './a-garden.js';
import {
  aServer,
  aVersion,
  endAll,
  eventually,
  openWatch,
  type ShootServer,
  watching,
  watchNumber,
} from './a-shoot-server.js';

beforeEach(() => void jest.spyOn(Math, 'random').mockReturnValue(0.05));
afterEach(() => {
  jest.restoreAllMocks();
});
afterEach(endAll);

const named = (count: number, version = '1') =>
  Array.from({ length: count }, (_, index) => aVersion(version, `c${String(index).padStart(3, '0')}`));
/** Name and version of each Shoot that a page has. */
const shown = (shoots: readonly Shoot[]) =>
  shoots.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();

/** Follows a server whose list is repeated each time that a watch ends, and notes lists and what was summarized. */
async function following(server: ShootServer, { pageSize = 500 } = {}) {
  const lists: string[][] = [];
  const summarized: string[] = [];
  let list: string[] = [];
  const watched = await watching(server, {
    relistEveryMs: 1,
    pageSize,
    summarize: (shoot) => {
      summarized.push(...shown([shoot]));
      return shoot;
    },
    onPage: (shoots) => {
      list.push(...shown(shoots));
    },
    onListed: () => {
      lists.push(list);
    },
    onState: ({ phase }) => {
      if (phase === 'listing') list = [];
    },
  });
  const watch = await watchNumber(server, 1);
  return {
    ...watched,
    lists,
    summarized,
    watch,
    /** Ends the watch, which causes the next list. */
    async repeat(): Promise<string[]> {
      const count = lists.length;
      await endWatch(server);
      await eventually(() => expect(lists.length).toBeGreaterThan(count));
      return lists[count] as string[];
    },
  };
}

async function endWatch(server: ShootServer): Promise<void> {
  (await openWatch(server)).response.end();
}

describe('the repeated list of a watch', () => {
  it('reads metadata only, and hands over all Shoots', async () => {
    const server = await aServer();
    server.shoots = named(3);
    const { repeat, summarized } = await following(server, { pageSize: 2 });

    const all = ['c000@1', 'c001@1', 'c002@1'];
    expect(await repeat()).toEqual(all);
    expect(await repeat()).toEqual(all);

    expect(server.accepted.slice(0, 4)).toEqual([
      'application/json',
      'application/json',
      expect.stringContaining('as=PartialObjectMetadataList'),
      expect.stringContaining('as=PartialObjectMetadataList'),
    ]);
    expect(server.reads).toEqual([]);
    expect(summarized).toEqual(all);
  });

  it('reads the Shoots that have changed, appeared or come back under the same name, one by one', async () => {
    const server = await aServer();
    server.shoots = named(4);
    const { repeat } = await following(server);

    const [, , gone, another] = named(4) as [
      unknown,
      unknown,
      ReturnType<typeof aVersion>,
      ReturnType<typeof aVersion>,
    ];
    server.shoots = [
      ...named(1),
      aVersion('2', 'c001'),
      { ...another, metadata: { ...another.metadata, uid: 'another' } },
      aVersion('1', 'c004'),
    ];

    expect(await repeat()).toEqual(['c000@1', 'c001@2', 'c003@1', 'c004@1']);
    expect(server.reads.map((path) => path.split('/').at(-1)).sort()).toEqual(['c001', 'c003', 'c004']);
    expect(gone.metadata.name).toBe('c002');
  });

  it('reads no Shoot again whose newest version an event has shown', async () => {
    const server = await aServer();
    server.shoots = named(2);
    const { lists, summarized, watch } = await following(server);

    server.shoots = [...named(1), aVersion('7', 'c001')];
    // The next list is due already, and begins after the event.
    watch.send('MODIFIED', aVersion('7', 'c001'));
    await eventually(() => expect(lists).toHaveLength(2));

    expect(lists[1]).toEqual(['c000@1', 'c001@7']);
    expect(server.reads).toEqual([]);
    expect(summarized).toEqual(['c000@1', 'c001@1', 'c001@7']);
  });

  it('reads a page as a whole on which many have changed', async () => {
    const server = await aServer();
    server.shoots = named(60);
    const { repeat } = await following(server);

    server.shoots = [...named(30), ...named(60, '2').slice(30)];

    expect(await repeat()).toEqual(shown(server.shoots as unknown as Shoot[]));
    expect(server.reads).toEqual([]);
    expect(server.accepted.filter((accept) => accept === 'application/json')).toHaveLength(2);
  });

  it('reads those one by one that such a page does not show any more', async () => {
    const server = await aServer();
    server.shoots = named(60);
    const { repeat } = await following(server, { pageSize: 30 });

    const changed = named(60, '2');
    server.shoots = changed;
    // Between both readings of the first page, a new Shoot came before all others.
    server.nextMetadataLists.push(server.metadata);
    server.nextLists.push((_, response) =>
      answerJson(response, 200, {
        metadata: { resourceVersion: '101', continue: '30' },
        items: [aVersion('1', 'b'), ...changed.slice(0, 29)],
      }),
    );

    expect(await repeat()).toEqual(shown(changed as unknown as Shoot[]));
    expect(server.reads.map((path) => path.split('/').at(-1))).toEqual(['c029']);
  });

  it('leaves out a Shoot that is gone when it is read', async () => {
    const server = await aServer();
    server.shoots = named(2);
    const { repeat } = await following(server);

    server.nextMetadataLists.push((query, response) => {
      server.shoots = [...named(1), aVersion('2', 'c001')];
      server.metadata(query, response);
      server.shoots = named(1);
    });

    expect(await repeat()).toEqual(['c000@1']);
  });

  it('fails as a whole if a Shoot cannot be read, and the next one reads it', async () => {
    const server = await aServer();
    server.shoots = named(2);
    const { repeat, logged } = await following(server);

    server.shoots = [...named(1), aVersion('2', 'c001')];
    server.nextReads.push((_, response) => answerJson(response, 403, aStatus(403, 'Forbidden', 'no')));

    const repeated = repeat();
    await eventually(() => expect(logged.join()).toContain('list of shoots failed'));
    await endWatch(server);
    expect(await repeated).toEqual(['c000@1', 'c001@2']);
  });

  it('forgets Shoots that are gone', async () => {
    const server = await aServer();
    server.shoots = named(2);
    const { repeat, summarized } = await following(server);

    server.shoots = named(1);
    expect(await repeat()).toEqual(['c000@1']);
    server.shoots = named(2);
    expect(await repeat()).toEqual(['c000@1', 'c001@1']);

    expect(summarized).toEqual(['c000@1', 'c001@1', 'c001@1']);
  });

  it('works with a server that sends whole objects', async () => {
    const server = await aServer();
    server.shoots = named(2);
    server.knowsMetadata = false;
    const { repeat } = await following(server);

    server.shoots = [...named(1), aVersion('2', 'c001')];

    expect(await repeat()).toEqual(['c000@1', 'c001@2']);
    expect(server.reads.map((path) => path.split('/').at(-1))).toEqual(['c001']);
  });

  it.each([
    ['metadata after the items', (items: string) => `{"items":[${items}],"metadata":{"resourceVersion":"100"}}`],
    ['spaces', (items: string) => `{"metadata": {"resourceVersion": "100"}, "items": [${items}] }`],
    [
      'a label that looks like the start of the items',
      (items: string) =>
        `{"metadata":{"resourceVersion":"100"},"items":[${items.replace('"labels":{', '"labels":{"items":"[",')}]}`,
    ],
  ])('works with a list that has %s', async (_what, render) => {
    const server = await aServer();
    server.shoots = named(2);
    const { repeat } = await following(server);
    const list = (shoots: ShootServer['shoots']) =>
      server.nextMetadataLists.push((_, response) => {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(render(shoots.map(({ metadata }) => JSON.stringify({ metadata })).join(',')));
      });

    list(named(2));
    expect(await repeat()).toEqual(['c000@1', 'c001@1']);
    server.shoots = [...named(1), aVersion('2', 'c001')];
    list(server.shoots);
    expect(await repeat()).toEqual(['c000@1', 'c001@2']);
  });

  it('reads a Shoot that an event has shown in another state, even if the garden shows the old one', async () => {
    const server = await aServer();
    server.shoots = named(2);
    const { repeat, lists } = await following(server);
    for (let times = 0; times < 2; times += 1) await repeat();
    const watch = await openWatch(server);
    const count = lists.length;

    watch.send('MODIFIED', aVersion('7', 'c001'));
    await eventually(() => expect(lists.length).toBeGreaterThan(count));
    await repeat();

    // It was read again: an old state may be one that the garden was restored to.
    expect(server.reads.map((path) => path.split('/').at(-1))).toContain('c001');
    expect(lists.at(-1)).toEqual(['c000@1', 'c001@1']);
  });
});

describe('a compressed page of a repeated list', () => {
  /** Sends the next list of metadata compressed, as `pack` does it. */
  const packing = (server: ShootServer, pack: (json: string) => Buffer) =>
    server.nextMetadataLists.push((_, response) => {
      const items = server.shoots.map(({ metadata }) => ({ metadata }));
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
      response.write(pack(JSON.stringify({ metadata: { resourceVersion: '100' }, items })));
      response.end();
    });

  it('is asked for, and read like any other', async () => {
    const server = await aServer();
    server.shoots = named(3);
    const { repeat } = await following(server);

    packing(server, (json) => gzipSync(json));
    expect(await repeat()).toEqual(['c000@1', 'c001@1', 'c002@1']);
    server.shoots = [...named(2), aVersion('2', 'c002')];
    packing(server, (json) => gzipSync(json));
    expect(await repeat()).toEqual(['c000@1', 'c001@1', 'c002@2']);

    expect(server.encodings.slice(0, 2)).toEqual([undefined, 'gzip']);
  });

  it.each<[string, (json: string) => Buffer, string]>([
    ['is cut off', (json) => gzipSync(json).subarray(0, -12), 'the answer is not compressed as it says'],
    ['is not compressed', (json) => Buffer.from(json), 'the answer is not compressed as it says'],
    ['is empty', () => Buffer.alloc(0), 'the answer is not compressed as it says'],
    [
      'is damaged',
      (json) => Buffer.from(gzipSync(json).map((byte, at) => (at === 20 ? byte ^ 0xff : byte))),
      'the answer is not compressed as it says',
    ],
    // The client of the tests takes a megabyte.
    ['would be too long', () => gzipSync(Buffer.alloc(50_000_000)), 'the answer has more than 1000000 bytes'],
    [
      'would be too long, and states that it is short',
      () => {
        const packed = gzipSync(Buffer.alloc(50_000_000));
        packed.writeUInt32LE(10, packed.length - 4);
        return packed;
      },
      'the answer has more than 1000000 bytes',
    ],
  ])('that %s makes the list fail, and the next one finds all', async (_what, pack, why) => {
    const server = await aServer();
    server.shoots = named(2);
    const { repeat, logged } = await following(server);

    packing(server, pack);
    const repeated = repeat();
    await eventually(() => expect(logged.join()).toContain(why));
    await endWatch(server);

    expect(await repeated).toEqual(['c000@1', 'c001@1']);
  });
});
