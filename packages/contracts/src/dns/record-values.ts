import { Address4, Address6 } from 'ip-address';
import { dnsLimits } from './limits.js';

/*
 * What the upstream refuses for sure, for plans and forms. The gateway does not apply these rules: it passes values on, and
 * the upstream decides.
 */

/** @param ttl seconds; null for the default of the zone. @returns why the upstream refuses it, or null */
export function ttlRefusal(ttl: number | null): string | null {
  const { ttlSecondsMin, ttlSecondsMax } = dnsLimits;
  if (ttl === null || (Number.isInteger(ttl) && ttl >= ttlSecondsMin && ttl <= ttlSecondsMax)) return null;
  return `The TTL is a number of seconds from ${ttlSecondsMin} to ${ttlSecondsMax}.`;
}

/** @returns why the upstream refuses the value for a set of this type, or null. Types that are not written are not checked */
export function valueRefusal(type: string, value: string): string | null {
  if (type === 'A') return isIpv4(value) ? null : `"${shortened(value)}" is not an IPv4 address.`;
  if (type === 'AAAA') return isIpv6(value) ? null : `"${shortened(value)}" is not an IPv6 address.`;
  if (type === 'CNAME' && !isHost(value)) {
    return `"${shortened(value)}" is not a name. Labels have 1 to 63 letters, digits, hyphens and underscores; write other letters in their xn-- form.`;
  }
  return type === 'TXT' ? txtRefusal(value) : null;
}

const isIpv4 = (value: string): boolean => /^[\d.]+$/.test(value) && Address4.isValid(value);
/** An address without prefix length and zone, which the library reads too. */
const isIpv6 = (value: string): boolean => /^[\da-f:.]+$/i.test(value) && Address6.isValid(value);

/** `@`, the root, or labels with an optional final dot. */
function isHost(text: string): boolean {
  if (text === '@' || text === '.') return true;
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (name.length > dnsLimits.fullNameCharacters) return false;
  return name.split('.').every((label, at) => /^[a-z0-9_-]{1,63}$/i.test(label) || (at === 0 && label === '*'));
}

const quotedString = /"(?:[^"\\]|\\.)*"/gu;
const quotedStrings = /^"(?:[^"\\]|\\.)*"(?: "(?:[^"\\]|\\.)*")*$/u;

function txtRefusal(value: string): string | null {
  if (!quotedStrings.test(value)) return 'TXT values need double quotes, and one space between strings.';
  if (charactersOf(value).some((each) => /^\\\d{3}$/.test(each) && Number(each.slice(1)) > 255)) {
    return 'An escape of three digits in a TXT value is at most \\255.';
  }
  return value.match(quotedString)?.every((string) => splitString(string.slice(1, -1)).length === 1)
    ? null
    : `A string of a TXT value has at most ${STRING_BYTES_MAX} bytes. Split it into several quoted strings.`;
}

/** RFC 1035 section 3.3.14. */
const STRING_BYTES_MAX = 255;
const encoder = new TextEncoder();

/** RFC 1035 section 5.1: `\DDD` is one byte, `\X` is X. */
const charactersOf = (text: string): string[] => text.match(/\\(?:\d{3}|.)|./gsu) ?? [];

function bytesOf(character: string): number {
  if (!character.startsWith('\\')) return encoder.encode(character).length;
  return character.length === 4 ? 1 : encoder.encode(character.slice(1)).length;
}

/** Control characters cannot stand in a value. */
const asEscapes = (character: string): string =>
  [...encoder.encode(character)].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('');

/**
 * Splits the text between two quotes into strings that fit into a TXT record, never within a character or an escape. Control
 * characters become escapes.
 *
 * @returns one string at least, each of at most 255 bytes
 */
export function splitString(text: string): string[] {
  const strings = [''];
  let bytes = 0;
  for (const character of charactersOf(text)) {
    const size = bytesOf(character);
    if (bytes + size > STRING_BYTES_MAX) {
      strings.push('');
      bytes = 0;
    }
    bytes += size;
    strings[strings.length - 1] += /^\p{Cc}$/u.test(character) ? asEscapes(character) : character;
  }
  return strings;
}

/** The value of a TXT record for a text: quoted strings of at most 255 bytes. */
export const quotedText = (text: string): string =>
  splitString(text.replace(/["\\]/g, '\\$&'))
    .map((string) => `"${string}"`)
    .join(' ');

/**
 * The value of a TXT record as the API takes it. A value that begins with a quote is in that form already; another one is text, which
 * is quoted and split (RFC 1035 section 3.3.14).
 */
export const textValue = (text: string): string => (text.startsWith('"') ? text : quotedText(text));

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
