import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIPv6 } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fairQueue, openScope } from '@corral/admission';
import { canonicalAddress } from '@corral/contracts';
import type { HostAndPort } from '@corral/service';
import { type Answer, type DecodedPacket, decode, encode, type RecordType } from 'dns-packet';

export type NameServer = HostAndPort;

/** A record as a name server answers it, its value in canonical form. */
export interface ServedRecord {
  readonly value: string;
  /** Seconds. */
  readonly ttl: number;
}

/** The name servers of the zone. Each has its own records of a set: null for no usable answer. */
export interface NameServers {
  readonly list: readonly NameServer[];
  /**
   * @param owner whose questions take turns with those of others
   * @param name absolute, without the final dot
   */
  ask(owner: string, name: string, type: string): Promise<readonly (readonly ServedRecord[] | null)[]>;
}

/** Longest wait for a server, in milliseconds: for its turn, and then for its answer. */
const TIMEOUT_MS = 2_000;
/** Answers are shared for so long. */
const SHARED_MS = 1_000;
/** Questions to one server at the same time, of all teams and of one. */
const AT_ONCE = 16;
const AT_ONCE_PER_OWNER = 4;

/** Asks all name servers at the same time. A question that is under way or was answered within a second is not asked again. */
export function nameServers(list: readonly NameServer[]): NameServers {
  const bounds = { concurrency: AT_ONCE, perOwner: AT_ONCE_PER_OWNER, waitMs: TIMEOUT_MS };
  const unbounded = { waiting: Number.POSITIVE_INFINITY, waitingPerOwner: Number.POSITIVE_INFINITY };
  const servers = list.map((server) => ({ server, queue: fairQueue({ ...bounds, ...unbounded }) }));
  const scope = openScope({ signal: new AbortController().signal });
  const shared = new Map<string, ReturnType<NameServers['ask']>>();
  return {
    list,
    ask(owner, name, type) {
      const key = `${name}/${type}`;
      const known = shared.get(key);
      if (known !== undefined) return known;
      const answers = Promise.all(
        servers.map(({ server, queue }) =>
          queue.run(owner, scope, () => askServer(server, name, type)).catch(() => null),
        ),
      );
      shared.set(key, answers);
      void Promise.all([answers, pause(SHARED_MS, undefined, { ref: false })]).then(() => shared.delete(key));
      return answers;
    },
  };
}

async function askServer({ host, port }: NameServer, name: string, type: string): Promise<ServedRecord[] | null> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const id = randomInt(0x1_0000);
  const query = encode({ type: 'query', id, questions: [{ name, type: type as RecordType }], additionals: [extended] });
  const server = { host: await addressOf(host), port };
  const short = decode(await overUdp(server, query, signal));
  const answer = short.flag_tc ? decode(await overTcp(server, query, signal)) : short;
  return answer.id === id ? recordsIn(answer, name, type) : null;
}

/** RFC 6891. The size is what passes everywhere without fragments. */
const extended = { type: 'OPT', name: '.', udpPayloadSize: 1_232, flags: 0, options: [] } as unknown as Answer;

/** @returns null for what is no answer of a server that has the zone */
function recordsIn(packet: DecodedPacket, name: string, type: string): ServedRecord[] | null {
  const { rcode, flag_aa: isAuthoritative, answers = [] } = packet as DecodedPacket & { rcode: string };
  if (!isAuthoritative || (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN')) return null;
  // An answer also has the records that an alias leads to.
  const own = answers.filter((answer) => answer.type === type && answer.name.toLowerCase() === name);
  return own.flatMap((answer) => {
    const value = valueIn(answer);
    return value === null ? [] : [{ value, ttl: ('ttl' in answer && answer.ttl) || 0 }];
  });
}

function valueIn(answer: Answer): string | null {
  switch (answer.type) {
    case 'A':
      return answer.data;
    case 'AAAA':
      return canonicalAddress(answer.data);
    case 'CNAME':
      return answer.data.toLowerCase();
    case 'TXT':
      return Buffer.concat([answer.data].flat().map((part) => Buffer.from(part))).toString('latin1');
    default:
      return null;
  }
}

const ADDRESS_MS = 60_000;
const addresses = new Map<string, { readonly at: number; readonly found: Promise<string> }>();

/**
 * Looks a name up at most once a minute, because look-ups take threads of the process. IPv4 first, as many networks of containers have
 * nothing else.
 */
function addressOf(host: string): Promise<string> {
  const known = addresses.get(host);
  if (known !== undefined && performance.now() - known.at < ADDRESS_MS) return known.found;
  const found = lookup(host, { order: 'ipv4first' }).then(({ address }) => address);
  addresses.set(host, { at: performance.now(), found });
  found.catch(() => addresses.delete(host));
  return found;
}

async function overUdp({ host, port }: NameServer, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.on('error', () => undefined);
  try {
    socket.connect(port, host);
    await once(socket, 'connect', { signal });
    const answered = once(socket, 'message', { signal });
    socket.send(query);
    return (await answered)[0];
  } finally {
    socket.close();
  }
}

async function overTcp({ host, port }: NameServer, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const socket = connect({ host, port, signal });
  try {
    // The length of a message comes before it, in two bytes.
    socket.write(Buffer.concat([Buffer.from([query.length >> 8, query.length & 0xff]), query]));
    let received = Buffer.alloc(0);
    for await (const part of socket) {
      received = Buffer.concat([received, part]);
      if (received.length < 2) continue;
      const end = 2 + received.readUInt16BE();
      if (received.length >= end) return received.subarray(2, end);
    }
    throw new Error('The name server closed the connection.');
  } finally {
    socket.destroy();
  }
}
