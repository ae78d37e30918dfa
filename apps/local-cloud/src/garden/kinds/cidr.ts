import { isIPv4 } from 'node:net';

/** A range of IPv4 addresses, first and last as numbers. */
export interface Cidr {
  readonly first: number;
  readonly last: number;
  readonly bits: number;
  /** Whether it is written with its first address. */
  readonly isCanonical: boolean;
}

const toNumber = (address: string): number =>
  address.split('.').reduce((number, part) => number * 256 + Number(part), 0);

export const toAddress = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');

/** @returns null when the text is no IPv4 range */
export function parseCidr(text: string): Cidr | null {
  const [, address = '', length = ''] = /^([^/]+)\/(\d{1,2})$/.exec(text) ?? [];
  if (!isIPv4(address) || Number(length) > 32) return null;
  const bits = Number(length);
  const size = 2 ** (32 - bits);
  const given = toNumber(address);
  const first = given - (given % size);
  return { first, last: first + size - 1, bits, isCanonical: first === given };
}

/** Whether two ranges share an address; a text that is no range shares none. */
export function intersect(a: string, b: string): boolean {
  const [left, right] = [parseCidr(a), parseCidr(b)];
  return left !== null && right !== null && left.first <= right.last && right.first <= left.last;
}
