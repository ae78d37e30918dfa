import type { ClusterSchemas } from '@corral/client';
import { describe, expect, test } from '@jest/globals';
import { actorOf, fieldTextsOf, rrsetChangeOf } from './audit-entry-view.js';

type AuditEntry = ClusterSchemas['AuditEntry'];

const body = (value: string) => ({ ttl: 300, records: [{ value }], labels: {} });
const content = (value: string) => ({ ttl: 300, records: [{ value, comment: null }], labels: {} });
const entry = (outcome: AuditEntry['outcome'], dns: Partial<NonNullable<AuditEntry['dns']>>) =>
  ({
    outcome,
    changes: null,
    dns: { beforeBody: null, afterBody: null, foundBody: null, foundApplied: null, ...dns },
  }) as unknown as AuditEntry;

describe('who acted', () => {
  test('an operator is named as such, also without a name', () => {
    expect(actorOf({ actor: { kind: 'operator', id: null, name: 'ada' } })).toBe('operator ada');
    expect(actorOf({ actor: { kind: 'operator', id: null, name: null } })).toBe('operator');
  });

  test.each([
    ['user', 'ada@acme.test', 'ada@acme.test', 'user 7'],
    ['token', 'ci', 'token ci', 'token 7'],
    ['account', 'ci', 'service account ci', 'service account 7'],
    ['service', null, 'Corral', 'Corral'],
    ['upstream', null, 'changed at the provider', 'changed at the provider'],
    ['course', null, 'course code', 'course code'],
  ] as const)('a %s is named, and by its number when the name is gone', (kind, name, named, nameless) => {
    expect([actorOf({ actor: { kind, id: '7', name } }), actorOf({ actor: { kind, id: '7', name: null } })]).toEqual([
      named,
      nameless,
    ]);
  });
});

describe('the record set before and after', () => {
  const [a, b] = [body('a'), body('b')];
  test.each<[string, AuditEntry, ReturnType<typeof rrsetChangeOf>]>([
    ['a write', entry('completed', { beforeBody: a, afterBody: b }), { from: content('a'), to: content('b') }],
    ['a deletion', entry('completed', { beforeBody: a }), { from: content('a'), to: null }],
    ['a settled one', entry('settled', { foundApplied: true, foundBody: b }), { from: null, to: content('b') }],
    ['another’s', entry('observed', { beforeBody: a, foundBody: b }), { from: content('a'), to: content('b') }],
    ['little', entry('completed', { afterBody: {} }), { from: null, to: { ttl: null, records: [], labels: {} } }],
    ['a settled write without effect', entry('settled', { foundApplied: false, beforeBody: a, foundBody: a }), null],
    ['a refused write', entry('refused', { beforeBody: a }), null],
    ['an entry without bodies', entry('completed', {}), null],
    ['a body that was cut', entry('completed', { beforeBody: '{"ttl":3', afterBody: b }), null],
  ])('of %s', (_what, given, expected) => {
    expect(rrsetChangeOf(given)).toEqual(expected);
  });
});

test('changed fields have their values as text', () => {
  const changes = [
    { pointer: '/spec/region', from: null, to: 'hel1' },
    { pointer: '/spec/nodePools/0', from: { name: 'a' }, to: null },
    { pointer: '/spec/nodePools/1/maximum', from: 6, to: 3, byDefault: true as const },
  ];
  expect(fieldTextsOf({ ...entry('completed', {}), changes })).toEqual([
    { field: 'region', from: null, to: 'hel1' },
    { field: 'nodePools[0]', from: JSON.stringify({ name: 'a' }, null, 2), to: null },
    { field: 'nodePools[1].maximum', from: '6', to: '3 (default)' },
  ]);
});
