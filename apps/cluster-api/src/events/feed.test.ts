import type { TeamEventKind } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type RenderedEvent, renderEvents, teamFeed, withoutOutdated } from './feed.js';
import { comparePositions, type EventPosition, type EventRecord, parsePosition, renderPosition } from './store.js';

describe('an event position', () => {
  const number = fc.bigInt({ min: 0n, max: 10n ** 18n - 1n });
  const position = fc.record({ xid: number, id: number, at: fc.integer({ min: 0, max: 4_102_444_800_000 }) });
  const at = (xid: bigint, id: bigint): EventPosition => ({ xid, id, at: 0 });

  it('survives a round trip through a header-safe text', () => {
    fc.assert(
      fc.property(position, (given) => {
        expect(parsePosition(renderPosition(given))).toEqual(given);
        expect(renderPosition(given)).toMatch(/^[\w-]{1,80}$/);
      }),
    );
  });

  it('is parsed only from its canonical text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[\w-]{1,40}$/)), (text) => {
        const parsed = parsePosition(text);
        expect(parsed === null || renderPosition(parsed) === text).toBe(true);
      }),
    );
  });

  it.each(['1.2', '1.2.3.4', '01.2.3', '-1.2.3', '1.2.x', '1e3.2.3', `${10n ** 18n}.0.0`, ' 1.2.3', '1.2.3\n', ''])(
    'is not parsed from %j',
    (text) => {
      expect(parsePosition(Buffer.from(text).toString('base64url'))).toBeNull();
    },
  );

  it.each([
    [at(1n, 9n), at(2n, 1n), -1],
    [at(2n, 1n), at(1n, 9n), 1],
    [at(2n, 1n), at(2n, 2n), -1],
    [at(2n, 0n), at(2n, 1n), -1],
    [at(2n, 2n), at(2n, 2n), 0],
  ])('orders %j and %j as %i: by transaction, then by event', (a, b, order) => {
    expect(comparePositions(a, b)).toBe(order);
  });
});

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
  let end = began;
  const feed = teamFeed({
    async read(after) {
      if (after === null) return { events: [], until: at(began), isFull: false, isHeld: false };
      reads.push(Number(after.xid));
      const behind = log.filter(({ position }) => comparePositions(position, after) > 0);
      const events = behind.slice(0, 2);
      const isFull = events.length === 2;
      return { events, until: isFull ? (events[1] as RenderedEvent).position : at(end), isFull, isHeld: false };
    },
    onError: (error) => {
      throw error;
    },
    onHeld: () => undefined,
  });
  await feed.start();
  return {
    feed,
    reads,
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

describe('a feed', () => {
  it('begins at one position for streams that open at the same time, so that none misses what comes between', async () => {
    let end = 0;
    const feed = teamFeed({
      async read() {
        end += 1;
        return { events: [], until: at(end), isFull: false, isHeld: false };
      },
      onError: () => undefined,
      onHeld: () => undefined,
    });

    expect(await Promise.all([feed.start(), feed.start()])).toEqual([at(1), at(1)]);
  });

  it('finds every event after a position in order, however many are in memory', async () => {
    const { feed, append, reads } = await givenFeed();
    await append(events(1, 300));
    reads.splice(0);

    const recent = await feed.after(at(100));
    expect(recent.events.map(numberOf)).toEqual(events(101, 300).map(numberOf));
    expect([recent.until, reads]).toEqual([at(300), []]);

    expect((await feed.after(at(3))).events.map(numberOf)).toEqual([4, 5]);
    expect(reads).toEqual([3]);
  });

  it('keeps at most a mebibyte in memory', async () => {
    const { feed, append, reads } = await givenFeed();
    await append(events(1, 5).map((each) => ({ ...each, bytes: Buffer.alloc(300_000) })));
    reads.splice(0);

    expect((await feed.after(at(2))).events.map(numberOf)).toEqual([3, 4, 5]);
    expect(reads).toEqual([]);
    expect((await feed.after(at(1))).events.map(numberOf)).toEqual([2, 3]);
    expect(reads).toEqual([1]);
  });
});
