import { asUserId, type Role } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import type { EventPage, RenderedEvent } from './event.js';
import type { EventPosition } from './event-position.js';
import { liveStream } from './live-stream.js';
import { recentEvents } from './recent-events.js';

const at = (xid: number): EventPosition => ({ xid: BigInt(xid), id: 0n, at: 0 });
const event = (xid: number, of: Partial<RenderedEvent> = {}): RenderedEvent => ({
  position: at(xid),
  bytes: Buffer.from(`<${xid}>`),
  kind: 'Operation',
  ownerId: null,
  ...of,
});
const events = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => event(from + index));

/** A stream over a connection that accepts `room` writes before backpressure. */
function given({ from = 0, keptFrom = 0, room = Number.POSITIVE_INFINITY, older = [] as RenderedEvent[] } = {}) {
  const written: string[] = [];
  let left = room;
  let drain: () => void = () => undefined;
  const recent = recentEvents(at(keptFrom), { events: 100, bytes: 10_000 });
  const reads: EventPosition[] = [];
  let role: Role = 'member';
  const stream = liveStream({
    recent,
    from: at(from),
    viewer: () => ({ userId: asUserId('m'), role }),
    feed: {
      async backlog(after): Promise<EventPage<RenderedEvent>> {
        reads.push(after);
        const page = older.filter(({ position }) => position.xid > after.xid).slice(0, 2);
        const until = page.length === 2 ? (page[1] as RenderedEvent).position : at(keptFrom);
        return { events: page, until, isFull: page.length === 2, isHeld: false };
      },
    },
    sink: {
      write(bytes) {
        written.push(bytes.toString());
        left -= 1;
        return left > 0;
      },
      onDrain(takesMore) {
        drain = takesMore;
      },
      end: (bytes) => void written.push(bytes.toString()),
    },
  });
  return {
    stream,
    recent,
    reads,
    written,
    becomes(now: Role) {
      role = now;
    },
    takeMore(more: number) {
      left = more;
      drain();
    },
  };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a stream', () => {
  it('sends each event after its position once', () => {
    const { stream, recent, written } = given({ from: 2 });
    recent.append(events(1, 4), at(4));
    stream.pump();
    recent.append(events(5, 5), at(5));
    stream.pump();
    stream.pump();

    expect(written).toEqual(['<3>', '<4>', '<5>']);
  });

  it('that starts far back reads pages, then continues with events in memory', async () => {
    const { stream, recent, written } = given({ from: 0, keptFrom: 5, older: events(1, 5) });
    recent.append(events(6, 7), at(7));
    stream.pump();
    await settled();
    await settled();

    expect(written.join('')).toBe('<1><2><3><4><5><6><7>');
  });

  it('buffers nothing for a slow reader and resumes at the same position', () => {
    const { stream, recent, written, takeMore } = given({ room: 2 });
    recent.append(events(1, 5), at(5));
    stream.pump();
    expect(written).toEqual(['<1>', '<2>']);

    takeMore(10);

    expect(written.join('')).toBe('<1><2><3><4><5>');
  });

  it('ends with a reason when the connection accepts nothing for a whole heartbeat', () => {
    const { stream, recent, written } = given({ room: 1 });
    recent.append(events(1, 3), at(3));
    stream.pump();
    stream.heartbeat();
    expect(written).toEqual(['<1>']);

    stream.heartbeat();
    stream.heartbeat();

    expect(written).toEqual(['<1>', expect.stringMatching(/^event: end\ndata: {"reason":"slow"/)]);
  });

  it('advances its position with a heartbeat, but not past unsent events', () => {
    const { stream, recent, written } = given();
    recent.append([], at(9));
    stream.heartbeat();
    stream.heartbeat();

    expect(written).toEqual([expect.stringMatching(/^: heartbeat\nid: [\w-]+\n\n$/), ': heartbeat\n\n']);
  });

  it('skips events that its viewer may not read with the current role', () => {
    const { stream, recent, written, becomes } = given();
    const token = (xid: number, ownerId: string | null) => event(xid, { kind: 'DnsToken', ownerId });
    recent.append([token(1, 'm'), token(2, 'another'), token(3, null), event(4)], at(4));
    stream.pump();
    becomes('admin');
    recent.append([token(5, 'another')], at(5));
    stream.pump();

    expect(written).toEqual(['<1>', '<4>', '<5>']);
  });

  it('advances its position with a heartbeat past skipped events', () => {
    const { stream, recent, written } = given();
    recent.append([event(1, { kind: 'DnsToken' })], at(1));
    stream.heartbeat();
    stream.heartbeat();
    recent.append([event(2)], at(2));
    stream.pump();

    expect(written).toEqual([expect.stringMatching(/^: heartbeat\nid: [\w-]+\n\n$/), ': heartbeat\n\n', '<2>']);
  });

  it('sends nothing after it was closed', async () => {
    const { stream, recent, written } = given({ keptFrom: 5, older: events(1, 5) });
    stream.pump();
    stream.close();
    recent.append(events(6, 7), at(7));
    stream.heartbeat();
    await settled();

    expect(written).toEqual([]);
  });
});
