import type { ConnectionPhase } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { Problem } from '../problem.js';
import { checkConnectionSpec, type DeclaredConnection, isUnchanged, standingOf } from './decide-connection.js';

const current: DeclaredConnection = {
  name: 'Production',
  provider: 'hcloud',
  providerConfig: { a: 1, b: { c: [2] } },
  phase: 'Ready',
};
const spec = (more: object = {}) => ({ provider: 'hcloud' as const, providerConfig: {}, ...more });

function codeOf(check: () => void): string {
  try {
    check();
  } catch (error) {
    if (error instanceof Problem) return `${error.code} ${error.errors?.[0]?.pointer}`;
    throw error;
  }
  return 'fits';
}

describe('the specification of a connection', () => {
  it.each([
    ['a new one with a token', null, spec({ token: 't' }), 'fits'],
    ['a new one without', null, spec(), 'validation_failed /spec/token'],
    ['one that has a token', current, spec(), 'fits'],
    ['one of another provider', { ...current, provider: 'other' }, spec(), 'immutable_field /spec/provider'],
  ])('for %s', (_what, present, wanted, outcome) => {
    expect(codeOf(() => checkConnectionSpec(present, wanted))).toBe(outcome);
  });
});

describe('a replacement', () => {
  it.each([
    ['the same', { name: 'Production', providerConfig: { a: 1, b: { c: [2] } } }, true],
    ['the same in another order', { name: 'Production', providerConfig: { b: { c: [2] }, a: 1 } }, true],
    ['of another name', { name: 'production', providerConfig: { a: 1, b: { c: [2] } } }, false],
    ['of other settings', { name: 'Production', providerConfig: { a: 1, b: { c: [3] } } }, false],
    ['of fewer settings', { name: 'Production', providerConfig: { a: 1 } }, false],
    ['of a number as text', { name: 'Production', providerConfig: { a: '1', b: { c: [2] } } }, false],
  ])('%s', (_what, replacement, unchanged) => {
    expect(isUnchanged(current, replacement)).toBe(unchanged);
  });
});

describe('what a connection says of its token', () => {
  it.each([
    ['accepted', 'valid', null, 'Ready'],
    ['accepted after all', 'valid', 'Rejected', 'Ready'],
    ['rejected', 'rejected', null, 'Rejected'],
    ['rejected from now on', 'rejected', 'Ready', 'Rejected'],
    ['new, without an answer', 'unknown', null, 'Unverified'],
    ['accepted before, without an answer now', 'unknown', 'Ready', 'Ready'],
    ['rejected before, without an answer now', 'unknown', 'Rejected', 'Rejected'],
    ['read-only', 'read-only', null, 'Rejected'],
    ['read-only from now on', 'read-only', 'Ready', 'Rejected'],
  ] as const)('%s', (_what, verdict, known, phase) => {
    expect(standingOf(verdict, known && standing(known), 0).phase).toBe(phase);
  });

  it('is asked about again: soon without an answer, in about a day with one', () => {
    expect(standingOf('unknown', standing('Ready'), 0.5).againMs).toBe(10_000);
    expect([0, 0.5, 1].map((random) => standingOf('valid', null, random).againMs)).toEqual([
      ...[77_760_000, 86_400_000, 95_040_000],
    ]);
  });

  it('says what to do unless all is well', () => {
    expect(standingOf('valid', null, 0).message).toBe('');
    expect(standingOf('rejected', null, 0).message).toMatch(/Replace it with a valid token/);
    expect(standingOf('read-only', null, 0).message).toMatch(/is read-only/);
    expect(standingOf('unknown', null, 0).message).toMatch(/The service retries/);
  });

  it('tells of the project what the answers told', () => {
    expect(standingOf('valid', null, 0).project).toEqual({ reachable: true, readOnly: false });
    expect(standingOf('read-only', null, 0).project).toEqual({ reachable: true, readOnly: true });
    expect(standingOf('rejected', null, 0).project).toEqual({ reachable: false, readOnly: null });
    expect(standingOf('unknown', null, 0).project).toBeNull();
  });

  it('keeps all that it said where an answer proves nothing, and is not called verified', () => {
    const { againMs: _, ...before } = standingOf('read-only', null, 0);

    expect(standingOf('unknown', before, 0)).toEqual({ ...before, againMs: 10_000 });
    expect(standingOf('unknown', standing('Ready'), 0).isVerified).toBe(false);
    expect(standingOf('valid', standing('Ready'), 0).isVerified).toBe(true);
  });
});

const standing = (phase: ConnectionPhase) => ({ phase, message: '', project: null });
