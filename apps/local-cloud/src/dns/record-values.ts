import { isIPv4, isIPv6 } from 'node:net';
import { parseCharacterStrings } from './character-strings.js';
import type { RrsetType } from './model.js';

const hostLabel = /^(?:\*|[A-Za-z0-9_-]{1,63})$/;

/** `@`, `.`, or labels with or without the final dot that makes them absolute. */
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

/** Every field is checked by the test at its place; the fields are separated by single spaces. */
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

/** Whether the text is a value of that type in zone-file form. It is never rewritten: the text is the identity. */
export const isRecordValue = (type: RrsetType, value: string): boolean => checks[type](value);
