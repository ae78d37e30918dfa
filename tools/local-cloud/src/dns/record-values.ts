import { isIPv4, isIPv6 } from 'node:net';
import type { RrsetType } from './model.js';

const hostLabel = /^(?:\*|[A-Za-z0-9_-]{1,63})$/;

/** `@`, `.`, or labels with an optional final dot. */
function isHost(text: string): boolean {
  if (text === '@' || text === '.') return true;
  if (text.length > 254) return false;
  const labels = (text.endsWith('.') ? text.slice(0, -1) : text).split('.');
  return labels.every((part) => hostLabel.test(part));
}

const isNumber =
  (maximum: number) =>
  (text: string): boolean =>
    /^\d{1,10}$/.test(text) && Number(text) <= maximum;

const isByte = isNumber(0xff);
const isShort = isNumber(0xffff);
const isLong = isNumber(0xffffffff);
const isHex = (text: string): boolean => /^(?:[0-9A-Fa-f]{2})+$/.test(text);

/** Checks single-space separated fields, each with the test at its position. */
const fields =
  (...tests: ((text: string) => boolean)[]) =>
  (value: string): boolean => {
    const parts = value.split(' ');
    return parts.length === tests.length && tests.every((test, index) => test(parts[index] ?? ''));
  };

function isCaa(value: string): boolean {
  const match = /^(\d{1,3}) ([A-Za-z0-9]{1,15}) (".*")$/.exec(value);
  return match !== null && isByte(match[1] ?? '') && parseCharacterStrings(match[3] ?? '')?.length === 1;
}

const isHinfo = (value: string): boolean =>
  parseCharacterStrings(value)?.length === 2 || /^[A-Za-z0-9-]+ [A-Za-z0-9-]+$/.test(value);

function isServiceBinding(value: string): boolean {
  const [priority = '', target = '', ...parameters] = value.split(' ');
  return isShort(priority) && isHost(target) && parameters.every((text) => /^[a-z0-9-]+(?:=.+)?$/.test(text));
}

const checks: Record<RrsetType, (value: string) => boolean> = {
  A: isIPv4,
  AAAA: (value) => isIPv6(value) && !value.includes('%'),
  CAA: isCaa,
  CNAME: isHost,
  DS: fields(isShort, isByte, isByte, isHex),
  HINFO: isHinfo,
  HTTPS: isServiceBinding,
  MX: fields(isShort, isHost),
  NS: isHost,
  PTR: isHost,
  RP: fields(isHost, isHost),
  SOA: fields(isHost, isHost, isLong, isLong, isLong, isLong, isLong),
  SRV: fields(isShort, isShort, isShort, isHost),
  SVCB: isServiceBinding,
  TLSA: fields(isByte, isByte, isByte, isHex),
  TXT: (value) => parseCharacterStrings(value) !== null,
};

/** Whether the text is a valid value of the type in zone-file form. Values are never normalized. */
export const isRecordValue = (type: RrsetType, value: string): boolean => checks[type](value);

const quoted = /"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"/uy;

/**
 * Reads zone-file text of double-quoted strings separated by single spaces: `"one" "two"`.
 *
 * @returns the bytes of each string, or null if the text does not have that form or a string exceeds 255 bytes
 */
export function parseCharacterStrings(text: string): Buffer[] | null {
  const strings: Buffer[] = [];
  let position = 0;
  for (;;) {
    quoted.lastIndex = position;
    const match = quoted.exec(text);
    if (match === null) return null;
    const bytes = unescapeBytes(match[1] ?? '');
    if (bytes === null || bytes.length > 255) return null;
    strings.push(bytes);
    position = quoted.lastIndex;
    if (position === text.length) return strings;
    if (text[position] !== ' ') return null;
    position += 1;
  }
}

/** RFC 1035 section 5.1: `\DDD` is the byte with that decimal value, `\X` is X. */
function unescapeBytes(text: string): Buffer | null {
  const parts: Buffer[] = [];
  for (const [piece] of text.matchAll(/\\\d{3}|\\.|[^\\]+/gu)) {
    if (!piece.startsWith('\\')) parts.push(Buffer.from(piece));
    else if (piece.length === 4 && /\d{3}$/.test(piece)) {
      const byte = Number(piece.slice(1));
      if (byte > 255) return null;
      parts.push(Buffer.from([byte]));
    } else parts.push(Buffer.from(piece.slice(1)));
  }
  return Buffer.concat(parts);
}
