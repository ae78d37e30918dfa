import { asTeamId } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import type { EventRecord } from './event.js';
import { eventRenderer, withoutOutdated } from './render-events.js';

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

describe('events that are read together', () => {
  it('contain each record set once, with its last change', () => {
    const records = [record(1), record(2, { targetId: 'api.acme/A' }), record(3), record(4, { change: 'deleted' })];

    expect(idsOf(withoutOutdated(records))).toEqual([2, 4]);
  });

  it('contain every change of other resources', () => {
    const records = [1, 2].map((id) => record(id, { kind: 'Operation', targetId: 'o' }));

    expect(idsOf(withoutOutdated(records))).toEqual([1, 2]);
  });

  it('omit kinds that only a newer version knows', () => {
    expect(withoutOutdated([record(1, { kind: 'toString' as 'Member' })])).toEqual([]);
  });

  it('keep bodies of equal ids but different kinds apart', async () => {
    const none = async () => new Map();
    const render = eventRenderer({
      Cluster: none,
      NodePool: none,
      Operation: none,
      AdoptedServer: none,
      Connection: none,
      DnsToken: none,
      RecordSet: async () => new Map([['7', { of: 'a set' }]]),
      Member: async () => new Map([['7', { of: 'a member' }]]),
    });

    const rendered = await render({ id: asTeamId('t'), slug: 'acme' }, [
      record(1, { targetId: '7' }),
      record(2, { targetId: '7', kind: 'Member' }),
    ]);

    expect(rendered.map(({ bytes }) => /"of":"([^"]+)"/.exec(bytes.toString())?.[1])).toEqual(['a set', 'a member']);
  });
});
