import { Address4, Address6 } from 'ip-address';
import { dnsLimits } from './limits.js';
import { absoluteName } from './names.js';

/* Addresses in the one form in which they are stored and compared. */

/**
 * An address as it is compared: an IPv4 address, an IPv6 address in short form (RFC 5952), a network of IPv6 addresses with the
 * length of its prefix, or a host name in lower case without a final dot.
 *
 * @returns null for any other text
 */
export function canonicalAddress(text: string): string | null {
  if (/^[\d.]+$/.test(text)) return Address4.isValid(text) ? text : null;
  if (text.includes(':')) return canonicalIpv6(text);
  const host = text.toLowerCase().replace(/\.$/, '');
  return host.length <= dnsLimits.fullNameCharacters && /^[a-z0-9_*-]+(\.[a-z0-9_-]+)*$/.test(host) ? host : null;
}

function canonicalIpv6(text: string): string | null {
  if (!/^[\da-f:.]+(\/\d+)?$/i.test(text) || !Address6.isValid(text)) return null;
  const address = new Address6(text);
  if (text.includes('/')) return `${address.startAddress().correctForm()}/${address.subnetMask}`;
  return address.isInSubnet(mappedIpv4) ? address.to4in6() : address.correctForm();
}

/** Their last 32 bits are written as an IPv4 address (RFC 5952 section 5). */
const mappedIpv4 = new Address6('::ffff:0:0/96');

/** The prefix that a cloud server has to itself. */
const SERVER_PREFIX = 64;

/**
 * The addresses to which a record leads, each in canonical form: of an AAAA record also its network, because servers have
 * networks. Empty for a value that is not valid, and for types that lead to no address.
 */
export function addressesOfRecord(zoneName: string, type: string, value: string): string[] {
  if (type === 'CNAME') return present(canonicalAddress(absoluteName(value, `${zoneName}.`)));
  if (type === 'A') return value.includes(':') ? [] : present(canonicalAddress(value));
  if (type !== 'AAAA' || !value.includes(':') || value.includes('/')) return [];
  const address = canonicalAddress(value);
  return address === null ? [] : present(address, canonicalAddress(`${address}/${SERVER_PREFIX}`));
}

const present = (...addresses: (string | null)[]): string[] => addresses.filter((address) => address !== null);
