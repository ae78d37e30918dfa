import { comparePositions, type EventPosition, type EventRecord } from '@corral/cluster-data';
import { asUserId, type TeamEventKind } from '@corral/contracts';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type RenderedEvent, renderEvents, teamFeed, withoutOutdated } from './feed.js';
import { openStream } from './streams.js';

describe('events that are read together', () => {
  const record = (id: number, of: Partial<EventRecord> = {}): EventRecord => ({
    position: { xid: 1n, id: BigInt(id), at: 0 },
    kind: 'RecordSet',
    change: 'changed',
    targetId: 'web.acme/A',
    name: 'web.acme',
    parent: 'example.test',
    ownerId: null,
    ...of,
  });
  const idsOf = (records: readonly EventRecord[]) => records.map(({ position }) => Number(position.id));

  it('contain every change, but no kinds that only a newer version knows', () => {
    const records = [1, 2].map((id) => record(id, { kind: 'Operation', targetId: 'o' }));

    expect(idsOf(withoutOutdated([...records, record(3, { kind: 'toString' as 'Member' })]))).toEqual([1, 2]);
  });

  it('keep bodies of equal ids but different kinds apart', async () => {
    const records = [record(1, { targetId: '7' }), record(2, { targetId: '7', kind: 'Member' })];

    const rendered = await renderEvents(records, async (kind: TeamEventKind) => [['7', { of: kind }]]);

    const of = rendered.map(({ bytes }) => /"of":"([^"]+)"/.exec(bytes.toString())?.[1]);
    expect(of).toEqual(['RecordSet', 'Member']);
  });
});

const settled = () => new Promise((resolve) => setImmediate(resolve));
const at = (xid: number): EventPosition => ({ xid: BigInt(xid), id: 0n, at: 0 });
const event = (xid: number, of: Partial<RenderedEvent> = {}): RenderedEvent => ({
  position: at(xid),
  bytes: Buffer.from(`<${xid}>`),
  kind: 'Operation',
  ownerId: null,
  ...of,
});
const numberOf = ({ position }: RenderedEvent): number => Number(position.xid);

/** A feed of a log in memory, whose pages have two events. */
async function givenFeed({ began = 0 } = {}) {
  const log: RenderedEvent[] = [];
  const reads: number[] = [];
  const asked: number[] = [];
  const errors: unknown[] = [];
  let failures = 0;
  let end = began;
  const feed = teamFeed({
    async read(after) {
      if (after === null) return { events: [], until: at(began), isFull: false, isHeld: false };
      reads.push(Number(after.xid));
      failures -= 1;
      if (failures >= 0) throw new Error('The database is away');
      const behind = log.filter(({ position }) => comparePositions(position, after) > 0);
      const events = behind.slice(0, 2);
      const isFull = events.length === 2;
      return { events, until: isFull ? (events[1] as RenderedEvent).position : at(end), isFull, isHeld: false };
    },
    async areKept({ xid }) {
      asked.push(Number(xid));
      return false;
    },
    onError: (error) => errors.push(error),
    onHeld: () => undefined,
  });
  await feed.start();
  return {
    feed,
    reads,
    /** Positions that were looked up. */
    asked,
    errors,
    /** The next reads fail. */
    fail(times: number) {
      failures = times;
    },
    /** Adds events and lets the feed read them. */
    async append(events: readonly RenderedEvent[], until = Number(events.at(-1)?.position.xid)) {
      log.push(...events);
      end = until;
      feed.wake();
      for (let round = 0; round < events.length + 2; round += 1) await settled();
    },
  };
}
const events = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => event(from + index));

it('a feed finds every event after a position in order, however many are in memory', async () => {
  const { feed, append, reads } = await givenFeed();
  await append(events(1, 300));
  reads.splice(0);

  const recent = await feed.after(at(100));
  expect(recent.events.map(numberOf)).toEqual(events(101, 300).map(numberOf));
  expect([recent.until, reads]).toEqual([at(300), []]);

  expect((await feed.after(at(3))).events.map(numberOf)).toEqual([4, 5]);
  expect(reads).toEqual([3]);
});

describe('a stream', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** A stream from the beginning over a connection that accepts `room` writes before backpressure. */
  async function given({ began = 0, room = Number.POSITIVE_INFINITY } = {}) {
    const written: string[] = [];
    let left = room;
    let drained = Promise.withResolvers<void>();
    const of = await givenFeed({ began });
    const sink = {
      write(bytes: Buffer) {
        written.push(bytes.toString());
        left -= 1;
        return left > 0;
      },
      isFull: () => left <= 0,
      drained: () => drained.promise,
      end: (bytes: Buffer) => void written.push(bytes.toString()),
    };
    return {
      ...of,
      written,
      open: () => openStream(of.feed, sink, at(0), { userId: asUserId('m'), role: 'member' }),
      takeMore() {
        left = Number.POSITIVE_INFINITY;
        drained.resolve();
        drained = Promise.withResolvers();
      },
    };
  }
  /** Resolves when streams wait for news, a timer or their connection. */
  const allSettled = async () => {
    for (let round = 0; round < 20; round += 1) await settled();
  };
  const statesPosition = expect.stringMatching(/^: heartbeat\nid: [\w-]+\n\n$/);

  it('advances its position with a heartbeat, but not past unsent events', async () => {
    const { append, open, takeMore, written } = await given({ room: 1 });
    const stream = open();
    await append(events(1, 3), 9);
    takeMore();
    stream.heartbeat();
    expect(written).toEqual(['<1>', ': heartbeat\n\n']);

    await allSettled();
    stream.heartbeat();
    stream.heartbeat();

    expect(written.slice(2)).toEqual(['<2>', '<3>', statesPosition, ': heartbeat\n\n']);
    stream.stop();
  });

  it('ends with a reason when the connection accepts nothing for a whole heartbeat', async () => {
    const { append, open, written } = await given({ room: 1 });
    const stream = open();
    await append(events(1, 3));
    stream.heartbeat();
    expect(written).toEqual(['<1>']);

    stream.heartbeat();
    stream.heartbeat();

    expect(written).toEqual(['<1>', expect.stringMatching(/^event: end\ndata: {"reason":"slow"/)]);
  });

  it('whose older events cannot be read reports each failure, and tries again after half a second', async () => {
    const { append, errors, fail, open, reads, written } = await given({ began: 5 });
    await append(events(1, 6));
    reads.splice(0);
    fail(2);
    const stream = open();

    await allSettled();
    expect([reads, errors.length]).toEqual([[0], 1]);
    jest.advanceTimersByTime(499);
    await allSettled();
    expect(reads).toEqual([0]);
    jest.advanceTimersByTime(1);
    await allSettled();
    expect([reads, errors.length, written]).toEqual([[0, 0], 2, []]);
    jest.advanceTimersByTime(500);
    await allSettled();

    expect(written.join('')).toBe('<1><2><3><4><5><6>');
    stream.stop();
  });
});
