import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Key, KeyRing, type Sealed, SecretUnreadable } from './key-ring.js';

const key = (id: string): Key => ({ id, bytes: randomBytes(32) });
const [old, current] = [key('2025'), key('2026')];
const ring = new KeyRing([current, old]);
const OWNER = 'c0c5d1a2-0000-4000-8000-000000000001';

function reasonOf(open: () => unknown): string {
  try {
    open();
  } catch (error) {
    if (error instanceof SecretUnreadable) return error.reason;
    throw error;
  }
  return 'opened';
}

describe('a sealed text', () => {
  it('opens to the original for the same owner', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, owner) => {
        expect(ring.open(ring.seal(text, owner), owner)).toBe(text);
      }),
    );
  });

  it('does not open after any one bit has changed', () => {
    const sealed = ring.seal('a-provider-token', OWNER);
    for (let bit = 0; bit < sealed.bytes.length * 8; bit += 1) {
      const bytes = Uint8Array.from(sealed.bytes);
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));

      expect(reasonOf(() => ring.open({ ...sealed, bytes }, OWNER))).toBe('altered');
    }
  });

  it('does not open for another owner', () => {
    const sealed = ring.seal('token', OWNER);

    expect(reasonOf(() => ring.open(sealed, 'c0c5d1a2-0000-4000-8000-000000000002'))).toBe('altered');
  });

  it('does not open with a removed key, and the error names the key', () => {
    const sealed = ring.seal('token', OWNER);
    const later = new KeyRing([key('2027')]);

    expect(reasonOf(() => later.open(sealed, OWNER))).toBe('unknown_key');
    expect(() => later.open(sealed, OWNER)).toThrow('"2026"');
  });

  it('does not open with another key of the same name', () => {
    expect(reasonOf(() => new KeyRing([key('2026')]).open(ring.seal('token', OWNER), OWNER))).toBe('altered');
  });

  it('is never the same twice, and does not contain the text', () => {
    const [one, other] = [ring.seal('token-token-token', OWNER), ring.seal('token-token-token', OWNER)];

    expect(Buffer.from(one.bytes)).not.toEqual(Buffer.from(other.bytes));
    expect(Buffer.from(one.bytes).includes('token')).toBe(false);
  });
});

describe('a key ring', () => {
  it('seals with the newest key and opens texts sealed by older ones', () => {
    const before: Sealed = new KeyRing([old]).seal('token', OWNER);

    expect(ring.seal('token', OWNER).keyId).toBe('2026');
    expect(ring.open(before, OWNER)).toBe('token');
    expect([ring.isOutdated(before), ring.isOutdated(ring.seal('token', OWNER))]).toEqual([true, false]);
  });

  it('shows only the names of its keys, however it is printed', () => {
    const shown = `${JSON.stringify({ ring })} ${inspect(ring, { depth: 10, showHidden: true })} ${ring}`;

    for (const secret of [old, current]) {
      for (const encoding of ['base64', 'hex'] as const) expect(shown).not.toContain(secret.bytes.toString(encoding));
      expect(shown).not.toContain(inspect(secret.bytes).slice(8, 40));
    }
  });
});
