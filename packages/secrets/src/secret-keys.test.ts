import { randomBytes } from 'node:crypto';
import { ConfigError, readConfig } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { secretKeys } from './secret-keys.js';

const specs = { SECRET_KEYS: secretKeys({ desc: 'Keys that seal provider tokens.' }) };
const read = (text: string | undefined) => readConfig(specs, { SECRET_KEYS: text }).SECRET_KEYS;
const encoded = randomBytes(32).toString('base64');

function messageOf(text: string | undefined): string {
  try {
    read(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('SECRET_KEYS', () => {
  it.each([
    ['one key', `k1:${encoded}`, ['k1']],
    ['several, the newest first', `k2:${randomBytes(32).toString('base64')}, k1:${encoded}`, ['k2', 'k1']],
    ['base64url without padding', `k1:${randomBytes(32).toString('base64url')}`, ['k1']],
  ])('accepts %s', (_what, text, ids) => {
    expect(read(text).keyIds).toEqual(ids);
  });

  it.each([
    ['nothing', undefined, 'SECRET_KEYS is missing'],
    ['a key without a name', encoded, 'has no valid key name'],
    ['a name with a space', `k 1:${encoded}`, 'has no valid key name'],
    ['a key of 31 bytes', `k1:${randomBytes(31).toString('base64')}`, 'does not have 32 bytes of base64 in entry 1'],
    ['hexadecimal', `k1:${randomBytes(32).toString('hex')}`, 'does not have 32 bytes of base64 in entry 1'],
    [
      'a mistyped second key',
      `k2:${encoded},k1:${encoded.slice(0, -2)}!=`,
      'does not have 32 bytes of base64 in entry 2',
    ],
    ['a name twice', `k1:${encoded},k1:${randomBytes(32).toString('base64')}`, 'has the same key name twice'],
  ])('rejects %s without repeating the value', (_what, text, problem) => {
    const message = messageOf(text);

    expect(message).toContain(problem);
    expect(message).not.toContain(encoded.slice(0, 16));
  });
});
