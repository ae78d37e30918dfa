import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Clients of the upstream (Terraform, the hcloud CLI) refuse a token of any other length. */
const TOKEN_CHARACTERS = 64;
const CHECKSUM_CHARACTERS = 6;
const tokenPattern = /^[A-Za-z0-9]{64}$/;

/** A new DNS token: 58 random characters (345 bits) and a checksum of six. */
export function mintDnsToken(): string {
  let secret = '';
  while (secret.length < TOKEN_CHARACTERS - CHECKSUM_CHARACTERS) secret += alphabet[randomInt(alphabet.length)];
  return secret + checksumOf(secret);
}

/** False for anything that was never issued as it stands, mistyped tokens included: no look-up is needed to say so. */
export function isWellFormedDnsToken(text: string): boolean {
  if (!tokenPattern.test(text)) return false;
  const secret = text.slice(0, -CHECKSUM_CHARACTERS);
  return text.slice(-CHECKSUM_CHARACTERS) === checksumOf(secret);
}

/** What is stored in place of the token. A fast hash is enough: the token is random, there is nothing to guess. */
export function hashDnsToken(token: string): Buffer {
  return Buffer.from(hexHashOfDnsToken(token), 'hex');
}

/** The same in hexadecimal. `hash` in one call takes half the time of a hash object, and this is on every request. */
export function hexHashOfDnsToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** CRC-32 in six digits of base 62. It guards against typing errors, not against forgery. */
function checksumOf(secret: string): string {
  let rest = crc32(secret);
  let digits = '';
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    digits = (alphabet[rest % alphabet.length] as string) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}
