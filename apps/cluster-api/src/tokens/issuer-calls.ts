import { lookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { exchange, parseJsonObject } from '@corral/service';

/*
 * Calls to addresses that teams choose. They must not reach what only this process can reach: other services of its
 * network, the metadata of its machine.
 */

export interface IssuerCallOptions {
  /** Hosts that may have private addresses: exact, or `*.` and a suffix. */
  readonly privateHosts: readonly string[];
  /** Whether issuers on this machine are allowed, also without TLS. For development only. */
  readonly allowLoopback: boolean;
}

export interface IssuerCalls {
  /** Why no call may go to a URL; null when it may. Continues a sentence after the name of a field. */
  refusalOfUrl(url: URL): string | null;
  /**
   * Reads a JSON object with one GET request: no redirect, at most 256 KiB, at most 5 s.
   *
   * @throws Error without anything of the answer
   */
  readJson(url: URL): Promise<Readonly<Record<string, unknown>>>;
}

const CALL_MS_MAX = 5_000;
const BYTES_MAX = 262_144;

/** Everything that is not a public unicast address (IANA special-purpose address registries). */
const special = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  special.addSubnet(net, bits, 'ipv4');
}
/** Only 2000::/3 is public unicast; parts of it lead to IPv4 addresses or nowhere. */
const publicSix = new BlockList();
publicSix.addSubnet('2000::', 3, 'ipv6');
for (const [net, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  special.addSubnet(net, bits, 'ipv6');
}
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether an address is reachable for everybody, and not for this process alone. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (special.check(address, family)) return false;
  return family === 'ipv4' ? isIP(address) === 4 : publicSix.check(address, 'ipv6');
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();

export function issuerCalls({ privateHosts, allowLoopback }: IssuerCallOptions): IssuerCalls {
  const isListed = (host: string): boolean =>
    privateHosts.some((entry) => (entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === entry));
  const isAllowed = (host: string, address: string): boolean =>
    isPublicAddress(address) ||
    isListed(host) ||
    (allowLoopback && loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'));

  /** Checks the addresses that the connection uses, so that no second answer of the name server counts. */
  const guarded: LookupFunction = (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const bad = addresses.some(({ address }) => !isAllowed(host.toLowerCase(), address));
      if (bad || addresses.length === 0) return done(new Error('the host has an address that is not public'), []);
      const [first] = addresses as [(typeof addresses)[0]];
      return options.all === true ? done(null, addresses) : done(null, first.address, first.family);
    });
  };

  const calls: IssuerCalls = {
    refusalOfUrl(url) {
      const host = hostOf(url);
      const isDevelopment = allowLoopback && (host === 'localhost' || (isIP(host) !== 0 && isAllowed(host, host)));
      if (url.protocol !== 'https:' && !isDevelopment) return 'must be an https URL';
      if (url.username !== '' || url.password !== '') return 'must have no user';
      if (isIP(host) !== 0 && !isAllowed(host, host))
        return 'is a private address, which the operators have not allowed';
      return null;
    },

    async readJson(url) {
      const refusal = calls.refusalOfUrl(url);
      if (refusal !== null) throw new Error(`the URL ${refusal}`);
      const isSecure = url.protocol === 'https:';
      const agent = new (isSecure ? https : http).Agent({ keepAlive: false, lookup: guarded });
      try {
        const endpoint = { server: new URL(url.origin), headers: {}, agent };
        const bounds = { signal: AbortSignal.timeout(CALL_MS_MAX), bodyBytesMax: BYTES_MAX };
        const answer = await exchange(endpoint, { method: 'GET', path: url.pathname + url.search }, bounds);
        if (answer.kind === 'broken') throw new Error(`no answer: ${answer.cause}, ${answer.stage}`);
        if (answer.status !== 200) throw new Error(`status ${answer.status}`);
        const value = parseJsonObject(answer.body);
        if (value === null) throw new Error('the answer is not a JSON object');
        return value as Readonly<Record<string, unknown>>;
      } finally {
        agent.destroy();
      }
    },
  };
  return calls;
}
