import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { signed } from '../../test/support/sign-billing.js';
import { isSignedBody } from './signature.js';

const SECONDS = 1_795_000_000;
const NOW = new Date(SECONDS * 1_000);
const BODY = '{"id":"evt_1"}';
const [OLD, NEW] = ['the-old-secret-of-billing', 'the-new-secret-of-billing'];
const holds = (header: string | undefined, body = BODY, secrets = [NEW, OLD], now = NOW) =>
  isSignedBody(header, Buffer.from(body), { secrets, now, toleranceSeconds: 300 });
const good = signed(BODY, NEW, SECONDS);
const digest = good.split('v1=')[1] as string;

describe('a signed body', () => {
  it('is valid with any of the secrets', () => {
    expect(holds(good)).toBe(true);
    expect(holds(signed(BODY, OLD, SECONDS))).toBe(true);
  });

  it.each([-300, -1, 0, 1, 300])('is valid when signed %s s from now', (offset) => {
    expect(holds(signed(BODY, NEW, SECONDS + offset))).toBe(true);
  });

  it.each([-301, 301, -86_400])('may not be signed %s s from now', (offset) => {
    expect(holds(signed(BODY, NEW, SECONDS + offset))).toBe(false);
  });

  it.each([
    ['spaces between the parts', good.replace(',', ', ')],
    ['a wrong signature next to a valid one', `t=${SECONDS},v1=${'0'.repeat(64)},v1=${digest}`],
    ['parts of another scheme', `${good},v0=abc,x`],
  ])('is valid with %s in its header', (_what, header) => {
    expect(holds(header)).toBe(true);
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['no time', `v1=${digest}`],
    ['another time', `t=${SECONDS + 1},v1=${digest}`],
    ['two times', `t=${SECONDS},t=${SECONDS},v1=${digest}`],
    ['a malformed time', `t=x,v1=${digest}`],
    ['no signature', `t=${SECONDS}`],
    ['a truncated signature', `t=${SECONDS},v1=${digest.slice(0, 32)}`],
    ['a signature that is too long', `t=${SECONDS},v1=${digest}00`],
    ['a signature in capitals', `t=${SECONDS},v1=${digest.toUpperCase()}`],
    ['an unknown scheme', `t=${SECONDS},v2=${digest}`],
    ['a signature with an unknown secret', signed(BODY, 'a-secret-of-somebody-else', SECONDS)],
  ])('is invalid with %s', (_what, header) => {
    expect(holds(header)).toBe(false);
  });

  it('is invalid without secrets', () => {
    expect(holds(good, BODY, [])).toBe(false);
  });

  it('is invalid when any byte has changed', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string(), (body, other) => {
        const header = signed(body, NEW, SECONDS);
        expect(holds(header, body)).toBe(true);
        expect(holds(header, other)).toBe(other === body);
      }),
    );
  });
});
