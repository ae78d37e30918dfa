import { lookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { type Answered, type Broken, collect, type Outgoing, openExchange } from './calls.js';
import { refuseValue, variable } from './config-variables.js';

/*
 * Calls to addresses that teams choose. They must not reach what only this process can reach: other services of its
 * network, the metadata of its machine.
 */

export interface CallGuardOptions {
  /** Hosts that may have private addresses: exact, or `*.` and a suffix. */
  readonly privateHosts: readonly string[];
  /** Whether this machine may be called, also without TLS. For development only. */
  readonly allowLoopback: boolean;
  /** Resolves names. Default: as the system does. */
  readonly resolve?: typeof lookup;
}

export interface GuardedCall extends Omit<Outgoing, 'path'> {
  readonly headers?: Readonly<Record<string, string>>;
}

export interface GuardedBounds {
  /** Time limit of the call in ms. */
  readonly msMax: number;
  readonly signal?: AbortSignal;
  /** Default: the body of the answer is not read. */
  readonly bodyBytesMax?: number;
}

export interface CallGuard {
  /** Why no call may go to a URL; null when it may. Continues a sentence after the name of a field. */
  refusalOfUrl(url: URL): string | null;
  /**
   * Makes one call, without redirects. One to an address that is not public ends as `broken` with the code `NOT_PUBLIC`. Never rejects.
   */
  call(url: URL, call: GuardedCall, bounds: GuardedBounds): Promise<Answered | Broken>;
}

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

/** The address of a host is not public, and no operator has allowed it. */
class NotPublic extends Error {
  override readonly name = 'NotPublic';
  readonly code = 'NOT_PUBLIC';
}
const notPublic: Broken = {
  ...{ kind: 'broken', stage: 'connecting', cause: 'error' },
  ...{ code: 'NOT_PUBLIC', untrusted: false },
} as const;

export function callGuard({ privateHosts, allowLoopback, resolve = lookup }: CallGuardOptions): CallGuard {
  const isListed = (host: string): boolean =>
    privateHosts.some((entry) => (entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === entry));
  const isAllowed = (host: string, address: string): boolean =>
    isPublicAddress(address) ||
    isListed(host) ||
    (allowLoopback && loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'));

  /** Checks the addresses that the connection uses, so that no second answer of the name server counts. */
  const guarded: LookupFunction = (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const bad = addresses.some(({ address }) => !isAllowed(host.toLowerCase(), address));
      if (bad || addresses.length === 0) return done(new NotPublic(), []);
      const [first] = addresses as [(typeof addresses)[0]];
      return options.all === true ? done(null, addresses) : done(null, first.address, first.family);
    });
  };

  const refusalOfUrl = (url: URL): string | null => {
    const host = hostOf(url);
    const isDevelopment = allowLoopback && (host === 'localhost' || (isIP(host) !== 0 && isAllowed(host, host)));
    if (url.protocol !== 'https:' && !isDevelopment) return 'must be an https URL';
    if (url.username !== '' || url.password !== '') return 'must have no user';
    if (isIP(host) !== 0 && !isAllowed(host, host)) return 'is a private address, which the operators have not allowed';
    return null;
  };

  return {
    refusalOfUrl,

    async call(url, { headers = {}, ...outgoing }, { msMax, signal, bodyBytesMax }) {
      if (refusalOfUrl(url) !== null) return notPublic;
      const isSecure = url.protocol === 'https:';
      const agent = new (isSecure ? https : http).Agent({ keepAlive: false, lookup: guarded });
      const late = AbortSignal.timeout(msMax);
      const ending = signal === undefined ? late : AbortSignal.any([late, signal]);
      try {
        const endpoint = { server: new URL(url.origin), headers, agent, hidesPath: true };
        const opened = await openExchange(
          endpoint,
          { ...outgoing, path: url.pathname + url.search },
          { signal: ending },
        );
        if (opened.kind === 'broken') return opened;
        if (bodyBytesMax !== undefined) return await collect(opened, { signal: ending, bodyBytesMax });
        opened.body.on('error', () => undefined).destroy();
        return { ...opened, kind: 'answered', body: Buffer.alloc(0) };
      } finally {
        agent.destroy();
      }
    },
  };
}

/** Names as a URL has them, so that they compare. */
const hostPattern = /^(\*\.)?[a-z0-9][a-z0-9.:-]*$/;

/** A variable with hosts for `CallGuardOptions`. */
export function guardedHosts({ desc }: { readonly desc: string }) {
  const declared = { default: [], desc };
  return variable<readonly string[]>(
    declared,
    { type: 'hosts', expected: 'host names or addresses such as *.k8s.example.org,10.0.0.1', hidden: false },
    (input) => {
      const hosts = input.split(',').map((host) => host.trim().toLowerCase());
      if (hosts.some((host) => !hostPattern.test(host))) refuseValue('has an entry that is not a host');
      return hosts;
    },
  );
}
