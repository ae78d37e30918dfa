import { asConnectionId, type ConnectionPhase } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { refusalOf } from '../../test/support/refusal.js';
import { checkConnectionSpec, isUnchanged, tokenStatusOf } from './rules.js';
import type { ConnectionRecord } from './view.js';

const current: ConnectionRecord = {
  id: asConnectionId('c'),
  ref: 'main',
  generation: 1,
  name: 'Production',
  provider: 'hcloud',
  providerConfig: { a: 1, b: { c: [2] } },
  phase: 'Ready',
  verifiedAt: null,
  message: '',
  project: null,
  currency: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
};

describe('the specification of a connection', () => {
  it.each<[string, ConnectionRecord | null, object, string[] | null]>([
    ['a new connection with a token', null, { token: 't' }, null],
    ['a new connection without a token', null, {}, ['validation_failed', '/spec/token']],
    ['an existing connection, without a token', current, {}, null],
    ['another provider', { ...current, provider: 'other' }, {}, ['immutable_field', '/spec/provider']],
  ])('is checked for %s', (_what, present, wanted, refusal) => {
    const spec = { provider: 'hcloud' as const, providerConfig: {}, ...wanted };

    expect(refusalOf(() => checkConnectionSpec(present, spec))).toEqual(refusal);
  });
});

describe('a replacement', () => {
  const settings = { a: 1, b: { c: [2] } };

  it.each<[string, string, object, boolean]>([
    ['with equal values is unchanged', 'Production', settings, true],
    ['with another order of members is unchanged', 'Production', { b: { c: [2] }, a: 1 }, true],
    ['with another name is a change', 'production', settings, false],
    ['with another setting is a change', 'Production', { a: 1, b: { c: [3] } }, false],
    ['without one of the settings is a change', 'Production', { a: 1 }, false],
    ['with a string instead of a number is a change', 'Production', { ...settings, a: '1' }, false],
  ])('%s', (_what, name, providerConfig, unchanged) => {
    expect(isUnchanged(current, name, providerConfig as ConnectionRecord['providerConfig'])).toBe(unchanged);
  });
});

describe('the status of a token', () => {
  it.each([
    ['accepted', 'valid', null, 'Ready'],
    ['accepted after a rejection', 'valid', 'Rejected', 'Ready'],
    ['rejected', 'rejected', null, 'Rejected'],
    ['rejected after it was accepted', 'rejected', 'Ready', 'Rejected'],
    ['new, with an inconclusive answer', 'unknown', null, 'Unverified'],
    ['accepted before, now with an inconclusive answer', 'unknown', 'Ready', 'Ready'],
    ['rejected before, now with an inconclusive answer', 'unknown', 'Rejected', 'Rejected'],
    ['read-only', 'read-only', null, 'Rejected'],
    ['read-only after it was accepted', 'read-only', 'Ready', 'Rejected'],
  ] as const)('%s', (_what, verdict, known, phase) => {
    expect(tokenStatusOf(verdict, known && tokenStatus(known), 0).phase).toBe(phase);
  });

  it('is verified again after 10 s without an answer and after about a day with one', () => {
    expect(tokenStatusOf('unknown', tokenStatus('Ready'), 0.5).againMs).toBe(10_000);
    expect([0, 0.5, 1].map((random) => tokenStatusOf('valid', null, random).againMs)).toEqual([
      77_760_000, 86_400_000, 95_040_000,
    ]);
  });

  it('has a message that says what to do unless the token is valid', () => {
    expect(tokenStatusOf('valid', null, 0).message).toBe('');
    expect(tokenStatusOf('rejected', null, 0).message).toMatch(/Replace it with a valid token/);
    expect(tokenStatusOf('read-only', null, 0).message).toMatch(/is read-only/);
    expect(tokenStatusOf('unknown', null, 0).message).toMatch(/The service retries/);
  });

  it('shows whether the project is reachable and read-only', () => {
    expect(tokenStatusOf('valid', null, 0).project).toEqual({ reachable: true, readOnly: false });
    expect(tokenStatusOf('read-only', null, 0).project).toEqual({ reachable: true, readOnly: true });
    expect(tokenStatusOf('rejected', null, 0).project).toEqual({ reachable: false, readOnly: null });
    expect(tokenStatusOf('unknown', null, 0).project).toBeNull();
  });

  it('is kept after an inconclusive answer but not marked as verified', () => {
    const { againMs: _, ...before } = tokenStatusOf('read-only', null, 0);

    expect(tokenStatusOf('unknown', before, 0)).toEqual({ ...before, againMs: 10_000 });
    expect(tokenStatusOf('unknown', tokenStatus('Ready'), 0).isVerified).toBe(false);
    expect(tokenStatusOf('valid', tokenStatus('Ready'), 0).isVerified).toBe(true);
  });
});

const tokenStatus = (phase: ConnectionPhase) => ({ phase, message: '', project: null });
