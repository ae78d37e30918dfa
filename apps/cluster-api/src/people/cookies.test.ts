import { randomBytes } from 'node:crypto';
import { KeyRing } from '@corral/secrets';
import { describe, expect, it } from '@jest/globals';
import { ATTEMPT_MS_MAX, openAttempt, sealAttempt } from './cookies.js';

const ring = new KeyRing([{ id: '2026.11', bytes: randomBytes(32) }]);
const attempt = { nonce: 'the-nonce', codeVerifier: 'the-verifier', returnTo: '/docs/', startedAt: 1_000_000 };
const sealed = sealAttempt(ring, 'state-a', attempt);

describe('a sign-in attempt', () => {
  it('is opened with its state until it expires', () => {
    expect(openAttempt(ring, 'state-a', sealed, attempt.startedAt)).toEqual(attempt);
    expect(openAttempt(ring, 'state-a', sealed, attempt.startedAt + ATTEMPT_MS_MAX - 1)).toEqual(attempt);
    expect(openAttempt(ring, 'state-a', sealed, attempt.startedAt + ATTEMPT_MS_MAX)).toBeNull();
  });

  it.each([
    ['another state', 'state-b', sealed],
    ['a changed end', 'state-a', `${sealed.slice(0, -4)}AAAA`],
    ['the id of another key', 'state-a', `other${sealed.slice(sealed.lastIndexOf('.'))}`],
    ['no key id', 'state-a', sealed.slice(sealed.lastIndexOf('.') + 1)],
    ['an empty text', 'state-a', ''],
    ['only a dot', 'state-a', '.'],
  ])('is not opened with %s', (_what, state, text) => {
    expect(openAttempt(ring, state, text, attempt.startedAt)).toBeNull();
  });

  it('does not reveal its content', () => {
    const bytes = Buffer.from(sealed.slice(sealed.lastIndexOf('.') + 1), 'base64url').toString('latin1');

    for (const secret of [attempt.nonce, attempt.codeVerifier]) expect(bytes).not.toContain(secret);
  });
});
