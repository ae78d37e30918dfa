import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { canNarrowTo, isShownName, isWritableType, textRules } from '@corral/contracts';
import { type TeamRecord, TeamRuleError } from '../people/team-store.js';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Clients of the upstream (Terraform, the hcloud CLI) reject other lengths. */
const TOKEN_CHARACTERS = 64;
const CHECKSUM_CHARACTERS = 6;
const tokenPattern = /^[A-Za-z0-9]{64}$/;

/** Creates a DNS token: 58 random characters (345 bits) and a checksum of six. */
export function mintDnsToken(): string {
  let secret = '';
  while (secret.length < TOKEN_CHARACTERS - CHECKSUM_CHARACTERS) secret += alphabet[randomInt(alphabet.length)];
  return secret + checksumOf(secret);
}

/** Whether the text has a valid checksum. Rejects mistyped tokens without a look-up. */
export function isWellFormedDnsToken(text: string): boolean {
  if (!tokenPattern.test(text)) return false;
  const secret = text.slice(0, -CHECKSUM_CHARACTERS);
  return text.slice(-CHECKSUM_CHARACTERS) === checksumOf(secret);
}

/** The stored form of a token. A fast hash is enough because tokens are random. */
export function hashDnsToken(token: string): Buffer {
  return Buffer.from(hexHashOfDnsToken(token), 'hex');
}

/**
 * The stored form in hexadecimal. The one-shot `hash` takes half the time of a hash object; this runs on every request.
 */
export function hexHashOfDnsToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** CRC-32 as six base-62 digits. Protects against typing errors, not against forgery. */
function checksumOf(secret: string): string {
  let rest = crc32(secret);
  let digits = '';
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    digits = (alphabet[rest % alphabet.length] as string) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

export interface NewDnsToken {
  readonly name: string;
  readonly expiresAt?: Date | null | undefined;
  readonly withinName?: string | null | undefined;
  readonly withinTypes?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/** A token cannot be issued as requested. */
export class DnsTokenRefused extends TeamRuleError {
  /**
   * @param field the invalid field, or null when the team has reached its token limit
   * @param wrong the rest of the sentence after the field's name, or a whole sentence without a field. No full stop
   */
  constructor(
    readonly field: 'name' | 'withinName' | 'withinTypes' | 'expiresAt' | null,
    readonly wrong: string,
  ) {
    super(`${field === null ? '' : `${field} `}${wrong}.`);
  }
}

/**
 * Checks that people can read a new token's name, that its narrowing lies within the team and that its expiry is in the future.
 *
 * @throws DnsTokenRefused
 */
export function checkNewDnsToken(
  { slug }: Pick<TeamRecord, 'slug'>,
  { name, withinName, withinTypes = [], expiresAt }: NewDnsToken,
  now: Date,
): void {
  if (!isShownName(name)) throw new DnsTokenRefused('name', textRules.shownName.must);
  if (withinName != null && !canNarrowTo(withinName, slug)) {
    throw new DnsTokenRefused('withinName', `must be "${slug}" or a name below it`);
  }
  const unknown = withinTypes.find((type) => !isWritableType(type));
  if (unknown !== undefined) throw new DnsTokenRefused('withinTypes', `cannot contain "${unknown}"`);
  if (expiresAt != null && !(expiresAt > now)) throw new DnsTokenRefused('expiresAt', 'must be in the future');
}
