import type { ClusterSpec, FieldChange } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isSame, type SetContent } from '../src/plan.js';
import { changeOfEntry, type LoggedEntry } from '../src/undo/change-of-entry.js';
import { callsOf, undoSet } from '../src/undo/undo-set.js';
import { undoSpec } from '../src/undo/undo-spec.js';

const set = (values: string, ttl: number | null = 300, labels: SetContent['labels'] = {}): SetContent => ({
  records: [...values].map((value) => ({ value, comment: null })),
  ttl,
  labels,
});

describe('taking back changes of a record set', () => {
  const [a, b, c] = [set('a'), set('b'), set('c')];

  type State = SetContent | null;
  /** The changes that led through these states, the newest first. */
  const through = (...states: State[]) =>
    states
      .slice(1)
      .map((after, at) => ({ before: states[at] ?? null, after }))
      .toReversed();

  it.each<[string, State, ReturnType<typeof through>, State, string[]]>([
    ['brings the records back', b, through(a, b), a, []],
    ['removes a set that was created', a, through(null, a), null, []],
    ['brings a deleted set back', null, through(a, null), a, []],
    ['leaves alone what others changed since', set('b', 60, { x: '1' }), through(a, b), set('a', 60, { x: '1' }), []],
    ['names records that were changed again', c, through(a, b), a, ['records']],
    ['names a TTL that was changed again', set('b', 5), through(set('b', 60), set('b', 300)), set('b', 60), ['ttl']],
    ['names all of a set that was created again', c, through(a, null), a, ['records', 'ttl', 'labels']],
    ['names all of a set that was deleted since', null, through(a, b), a, ['records', 'ttl', 'labels']],
    ['collapses several changes to the value before the first', c, through(a, b, c), a, []],
    ['names a change of others between two', set('d'), [...through(c, set('d')), ...through(a, b)], a, ['records']],
    ['goes on after an interruption between two parts', set('a', 60), through(a, b, b, set('b', 60)), a, []],
    ['has nothing to do where it was taken back already', a, through(a, b, c), a, []],
    ['does not care about the order of records', set('dc'), through(a, set('cd')), a, []],
  ])('%s', (_what, now, newestFirst, to, overwrites) => {
    const undone = undoSet(now, newestFirst);

    expect(isSame(undone.to, to)).toBe(true);
    expect(undone.overwrites).toEqual(overwrites);
  });

  const content = fc.option(
    fc.record({
      records: fc
        .uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 })
        .map((values) => values.map((value) => ({ value, comment: null }))),
      ttl: fc.constantFrom(null, 60, 300),
      labels: fc.constantFrom({}, { x: '1' }),
    }),
  );

  it('ends at the state before the first change, and undo of undo at the state before undo', () => {
    fc.assert(
      fc.property(fc.array(content, { minLength: 2, maxLength: 6 }), (states) => {
        const [first, last] = [states[0] ?? null, states.at(-1) ?? null];

        const undone = undoSet(last, through(...states));
        const redone = undoSet(undone.to, [{ before: last, after: undone.to }]);

        expect([isSame(undone.to, first), isSame(redone.to, last)]).toEqual([true, true]);
        expect([...undone.overwrites, ...redone.overwrites]).toEqual([]);
      }),
    );
  });

  it('keeps every part that it does not name and the change did not touch', () => {
    fc.assert(
      fc.property(content, content, content, (before, after, now) => {
        const { to } = undoSet(now, [{ before, after }]);
        if (isSame(before, after)) expect(isSame(to, now)).toBe(true);
        if (before === null || after === null || now === null || to === null) return;

        if (before.ttl === after.ttl) expect(to.ttl).toBe(now.ttl);
      }),
    );
  });

  it.each<[string, SetContent | null, SetContent | null, object[]]>([
    ['nothing', a, a, []],
    ['a removal', a, null, [{ method: 'DELETE', path: '/zones/z.test/rrsets/%40/A', body: null }]],
    [
      'a creation',
      null,
      set('a', null),
      [{ method: 'POST', path: '/zones/z.test/rrsets', body: { name: '@', type: 'A', records: [{ value: 'a' }] } }],
    ],
    [
      'each part that differs',
      a,
      set('b', 60, { x: '1' }),
      [
        { method: 'POST', path: '/zones/z.test/rrsets/%40/A/actions/set_records', body: { records: [{ value: 'b' }] } },
        { method: 'POST', path: '/zones/z.test/rrsets/%40/A/actions/change_ttl', body: { ttl: 60 } },
        { method: 'PUT', path: '/zones/z.test/rrsets/%40/A', body: { labels: { x: '1' } } },
      ],
    ],
  ])('asks the DNS API for %s', (_what, now, to, calls) => {
    expect(callsOf({ zone: 'z.test', name: '@', type: 'A' }, now, to)).toEqual(calls);
  });
});

const pool = (name: string, maximum = 3) =>
  ({ name, source: 'managed', machineType: 'cpx31', image: {}, minimum: 1, maximum, publicIP: true }) as const;
const spec = (over: Partial<ClusterSpec> = {}): ClusterSpec => ({
  connectionRef: 'main',
  region: 'hel1',
  kubernetesVersion: '1.33',
  plan: 'payg',
  hibernated: false,
  controlPlaneHA: false,
  deletionProtection: false,
  network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
  nodePools: [pool('a'), pool('b')],
  ...over,
});
const change = (pointer: string, from: unknown, to: unknown) => ({ pointer, from, to }) as FieldChange;
const undone = (...changes: FieldChange[]) => ({ changes, isUndone: true });
const later = (...changes: FieldChange[]) => ({ changes, isUndone: false });

describe('taking back changes of a cluster', () => {
  it.each<[string, ClusterSpec, Parameters<typeof undoSpec>[1], ClusterSpec, string[]]>([
    ['brings a field back', spec({ hibernated: true }), [undone(change('/spec/hibernated', false, true))], spec(), []],
    [
      'keeps what others changed since',
      spec({ hibernated: true, deletionProtection: true }),
      [later(change('/spec/deletionProtection', false, true)), undone(change('/spec/hibernated', false, true))],
      spec({ deletionProtection: true }),
      [],
    ],
    [
      'names a field that was changed again',
      spec({ nodePools: [pool('a', 9), pool('b')] }),
      [later(change('/spec/nodePools/0/maximum', 5, 9)), undone(change('/spec/nodePools/0/maximum', 3, 5))],
      spec(),
      ['nodePools.a.maximum'],
    ],
    [
      'finds a pool by its name where others moved it since',
      spec({ nodePools: [pool('b', 5), pool('a')] }),
      [later(change('/spec/nodePools', ['a', 'b'], ['b', 'a'])), undone(change('/spec/nodePools/1/maximum', 3, 5))],
      spec({ nodePools: [pool('b'), pool('a')] }),
      [],
    ],
    [
      'brings a removed pool back to its place',
      spec({ nodePools: [pool('b'), pool('c')] }),
      [later(change('/spec/nodePools/1', null, pool('c'))), undone(change('/spec/nodePools/0', pool('a'), null))],
      spec({ nodePools: [pool('a'), pool('b'), pool('c')] }),
      [],
    ],
    [
      'names an added pool that others changed since',
      spec({ nodePools: [pool('a'), pool('b'), pool('c', 9)] }),
      [later(change('/spec/nodePools/2/maximum', 3, 9)), undone(change('/spec/nodePools/2', null, pool('c')))],
      spec(),
      ['nodePools.c'],
    ],
    [
      'brings an order of pools back',
      spec({ nodePools: [pool('b'), pool('a')] }),
      [undone(change('/spec/nodePools', ['a', 'b'], ['b', 'a']))],
      spec(),
      [],
    ],
  ])('%s', (_what, now, entries, to, overwrites) => {
    expect(undoSpec(now, entries)).toMatchObject({ to, overwrites });
  });

  it('is not possible where the log does not lead to the specification', () => {
    expect(undoSpec(spec(), [undone(change('/spec/hibernated', false, true))])).toBeNull();
  });
});

describe('an entry of the audit log', () => {
  const dns = { name: 'www.acme', type: 'A', foundApplied: null, beforeBody: null, afterBody: null, foundBody: null };
  const body = { name: 'www.acme', type: 'A', ttl: 60, labels: {}, records: [{ value: 'a', comment: '' }] };
  const entryOf = (over: object): LoggedEntry =>
    ({ kind: 'dns', action: 'dns.create', outcome: 'completed', changes: null, ...over }) as LoggedEntry;
  const ofDns = (over: object, action = 'dns.set_records', outcome = 'completed') =>
    entryOf({ action, outcome, dns: { ...dns, ...over } });
  const ofCluster = (action: string, ...changes: FieldChange[]) =>
    entryOf({ kind: 'cluster', action, dns: null, changes, target: { id: 'c1', name: 'web' } });

  it.each<[string, LoggedEntry, object]>([
    ['a creation', ofDns({ afterBody: body }, 'dns.create'), { kind: 'recordSet', before: null, after: set('a', 60) }],
    ['a change', ofDns({ beforeBody: body, afterBody: body }), { kind: 'recordSet', before: set('a', 60) }],
    ['a drift', ofDns({ beforeBody: body }, 'dns.drift', 'observed'), { kind: 'recordSet', after: null }],
    [
      'a settled write',
      ofDns({ beforeBody: body, foundBody: body, foundApplied: true }, 'dns.set_records', 'settled'),
      { kind: 'recordSet', after: set('a', 60) },
    ],
    ['a write without effect', ofDns({ foundApplied: false }, 'dns.set_records', 'settled'), { kind: 'nothing' }],
    ['a refused write', ofDns({}, 'dns.set_records', 'refused'), { kind: 'nothing' }],
    ['a write in progress', ofDns({}, 'dns.set_records', 'pending'), { kind: 'impossible' }],
    ['a set that was cut', ofDns({ beforeBody: '{"records":[', afterBody: body }), { kind: 'impossible' }],
    ['a set that was not known before', ofDns({ afterBody: body }), { kind: 'impossible' }],
    ['a hibernation', ofCluster('cluster.hibernate', change('/spec/hibernated', false, true)), { kind: 'cluster' }],
    ['a repetition', ofCluster('cluster.retry'), { kind: 'nothing' }],
    [
      'a new cluster',
      ofCluster('cluster.declare', change('/spec/connectionRef', null, 'main')),
      { kind: 'impossible' },
    ],
    ['a deletion', ofCluster('cluster.delete', change('/spec', {}, null)), { kind: 'impossible' }],
    ['a revoked token', entryOf({ kind: 'dns_token', action: 'dns_token.revoke', dns: null }), { kind: 'impossible' }],
  ])('about %s says what it did', (_what, entry, expected) => {
    expect(changeOfEntry(entry)).toMatchObject(expected);
  });
});
