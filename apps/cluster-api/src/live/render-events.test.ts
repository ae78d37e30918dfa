import { describe, expect, it } from '@jest/globals';
import type { EventRecord } from './event-record.js';
import { eventRenderer, withoutOutdated } from './render-events.js';

const record = (id: number, of: Partial<EventRecord> = {}): EventRecord => ({
  ...{ position: { xid: 1n, id: BigInt(id), at: 0 }, kind: 'RecordSet', change: 'changed', targetId: 'web.acme/A' },
  ...{ name: 'web.acme', parent: 'example.test', ownerId: null, ...of },
});
const idsOf = (records: readonly EventRecord[]) => records.map(({ position }) => Number(position.id));

describe('events that are read together', () => {
  it('tell of a record set once, with its last change', () => {
    const records = [record(1), record(2, { targetId: 'api.acme/A' }), record(3), record(4, { change: 'deleted' })];

    expect(idsOf(withoutOutdated(records))).toEqual([2, 4]);
  });

  it('tell each change of all else', () => {
    const records = [1, 2].map((id) => record(id, { kind: 'Operation', targetId: 'o' }));

    expect(idsOf(withoutOutdated(records))).toEqual([1, 2]);
  });

  it('leave out what only a newer version knows of', () => {
    expect(withoutOutdated([record(1, { kind: 'toString' as 'Member' })])).toEqual([]);
  });

  it('keep bodies of one id but of several kinds apart', async () => {
    const none = async () => new Map();
    const render = eventRenderer({
      ...{ Cluster: none, NodePool: none, Operation: none, AdoptedServer: none, Connection: none, DnsToken: none },
      RecordSet: async () => new Map([['7', { of: 'a set' }]]),
      Member: async () => new Map([['7', { of: 'a member' }]]),
    });

    const rendered = await render({ id: 't', slug: 'acme' }, [
      ...[record(1, { targetId: '7' }), record(2, { targetId: '7', kind: 'Member' })],
    ]);

    expect(rendered.map(({ bytes }) => /"of":"([^"]+)"/.exec(bytes.toString())?.[1])).toEqual(['a set', 'a member']);
  });
});
