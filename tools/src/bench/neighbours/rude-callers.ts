import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { clusterSpec } from '../clusters/cluster-rig.js';
import { bearer } from '../load/load.js';
import { CLUSTERS, SETS, type Tenant, ZONE } from './neighbours-rig.js';

/** What a rude caller does until the signal comes. No answer makes it stop. */
interface Rudeness {
  readonly team: Tenant;
  readonly signal: AbortSignal;
  /** Sends a request from the address of the team. @returns its status, or 0 if there is none */
  readonly send: (call: RudeCall) => Promise<number>;
}

interface RudeCall {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The default is the address of the team. */
  readonly from?: string;
  /** Handles an answer that never ends. By default, the answer is read to its end. */
  readonly follow?: boolean;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const AT_ONCE = 290;
const MiB = 1_048_576;
/** Fewer connections than one address may have, so that the number of requests is the problem. */
const SOCKETS = 250;

const rrsetsOf = ({ gateway }: Tenant) => `${gateway}/v1/zones/${ZONE}/rrsets`;
const clustersOf = ({ api, slug }: Tenant) => `${api}/api/v1/teams/${slug}/clusters/`;
const tokenOf = ({ tokens }: Tenant, index: number) => bearer(tokens[index % tokens.length] as string);
const cookieOf = ({ cookies }: Tenant, index: number) => ({ cookie: cookies[index % cookies.length] as string });
const randomAddress = () => `10.${[0, 0, 0].map(() => Math.floor(Math.random() * 256)).join('.')}`;

/** Repeats something with a pause so short that other requests of this process are just sent, too. */
async function again(signal: AbortSignal, work: () => Promise<unknown>, everyMs = 5): Promise<void> {
  while (!signal.aborted) {
    await work();
    await pause(everyMs);
  }
}
const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

const putCluster = ({ team, send }: Rudeness, index: number): Promise<number> =>
  send({
    method: 'PUT',
    url: `${clustersOf(team)}c${index % CLUSTERS}/`,
    headers: { ...cookieOf(team, 0), ...JSON_TYPE },
    body: JSON.stringify({ spec: clusterSpec(2 + Math.floor(Math.random() * 50)) }),
  });

const setRecords = ({ team, send }: Rudeness, index: number, token = index, from = team.address): Promise<number> =>
  send({
    method: 'POST',
    url: `${rrsetsOf(team)}/w${index % SETS}.${team.slug}/A/actions/set_records`,
    from,
    headers: { ...tokenOf(team, token), ...JSON_TYPE },
    body: JSON.stringify({ records: [{ value: randomAddress() }] }),
  });

/** Bodies of a kilobyte or less that only consist of nesting. The first one is compressed. */
const nestedBodies = [
  { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipSync('['.repeat(MiB)) },
  { headers: JSON_TYPE, body: '['.repeat(4_000) },
];

const wideBody = `{"spec":{"nodePools":[${Array.from({ length: 330_000 }, () => '{}').join(',')}]}}`;

async function createAndRead({ team, send, signal }: Rudeness, name: string): Promise<void> {
  const headers = tokenOf(team, 0);
  const url = rrsetsOf(team);
  const body = JSON.stringify({ name, type: 'A', records: [{ value: '192.0.2.1' }] });
  await send({ method: 'POST', url, headers: { ...headers, ...JSON_TYPE }, body });
  await pause(500, null, { signal }).catch(() => undefined);
  await send({ method: 'GET', url: `${url}/${name}/A`, headers });
  await send({ method: 'DELETE', url: `${url}/${name}/A`, headers });
}

/** Announces a thousand bytes, and sends one every three seconds. */
function sendSlowly(url: string, from: string, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: from });
    socket.write(
      'POST /v1/demos HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n',
    );
    const timer = setInterval(() => socket.write(' '), 3_000);
    signal.addEventListener('abort', () => socket.destroy());
    socket.resume().on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(timer);
      resolve();
    });
  });
}

const bigSets = (team: Tenant) =>
  Array.from({ length: SETS }, (_, index) => ({
    path: `${rrsetsOf(team)}/w${index}.${team.slug}/A/actions/set_records`,
    body: JSON.stringify({
      records: [0, 1, 2, 3, 4].map((last) => ({ value: `10.0.${index}.${last}`, comment: 'x'.repeat(1_024) })),
    }),
  }));

export const rudeCallers = {
  '290 concurrent cluster PUTs': (rude) => again(rude.signal, () => times(AT_ONCE, (index) => putCluster(rude, index))),
  '280 concurrent DNS writes': (rude) => again(rude.signal, () => times(280, (index) => setRecords(rude, index))),
  'deep and packed bodies, 5/s': ({ team, send, signal }) =>
    again(
      signal,
      () =>
        times(5, (index) =>
          send({
            method: 'POST',
            url: `${team.gateway}/v1/demos`,
            ...(nestedBodies[index % 2] as (typeof nestedBodies)[0]),
          }),
        ),
      1_000,
    ),
  '1 MB of {} as node pools': ({ team, send, signal }) =>
    times(4, () =>
      again(signal, () =>
        send({
          method: 'PUT',
          url: `${clustersOf(team)}c0/`,
          body: wideBody,
          headers: { ...cookieOf(team, 0), ...JSON_TYPE },
        }),
      ),
    ),
  '300 slow sockets at each': ({ team, signal }) =>
    times(600, (index) =>
      again(signal, () => sendSlowly(index % 2 === 0 ? team.gateway : team.api, team.address, signal), 1_000),
    ),
  '2 sessions with 1,000 streams each': ({ team, send, signal }) =>
    times(2_000, (index) =>
      again(
        signal,
        () =>
          send({
            method: 'GET',
            url: `${team.api}/api/v1/teams/${team.slug}/events/`,
            follow: true,
            headers: cookieOf(team, index),
          }),
        1_000,
      ),
    ),
  'Terraform, 30 at a time': (rude) => {
    let made = 0;
    return times(30, () =>
      again(rude.signal, () => {
        made += 1;
        return createAndRead(rude, `tf${made % 100}.${rude.team.slug}`);
      }),
    );
  },
  '40 sets of comments, 12 concurrent lists': async ({ team, send, signal }) => {
    for (const { path, body } of bigSets(team)) {
      await send({ method: 'POST', url: path, headers: { ...tokenOf(team, 0), ...JSON_TYPE }, body });
    }
    const url = `${rrsetsOf(team)}?sort=name:desc&per_page=50`;
    await again(signal, () => times(12, (index) => send({ method: 'GET', url, headers: tokenOf(team, index) })));
  },
  '400 connections without a pause': (rude) => {
    // More than one address may have.
    const from = (index: number) => (index % 2 === 0 ? rude.team.address : rude.team.address.replace('.0.1.', '.0.2.'));
    const url = rrsetsOf(rude.team);
    return times(400, (index) =>
      again(rude.signal, () =>
        index % 4 === 0
          ? setRecords(rude, index, index, from(index))
          : rude.send({ method: 'GET', url, headers: tokenOf(rude.team, index), from: from(index) }),
      ),
    );
  },
} as const satisfies Record<string, (rude: Rudeness) => Promise<unknown>>;
export type RudeName = keyof typeof rudeCallers;

/** @returns how often each status was answered; 0 means no answer */
export async function actRudely(name: RudeName, team: Tenant, seconds: number): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  const agents = new Map<string, Agent>();
  const agentOf = (from: string): Agent => {
    const agent = agents.get(from) ?? new Agent({ keepAlive: true, localAddress: from, maxSockets: SOCKETS });
    agents.set(from, agent);
    return agent;
  };
  const signal = AbortSignal.timeout(seconds * 1_000);
  const send = ({ method, url, headers = {}, body, from = team.address, follow = false }: RudeCall): Promise<number> =>
    new Promise<number>((resolve) => {
      const req = request(
        url,
        { method, agent: follow ? false : agentOf(from), localAddress: from, headers, signal },
        (answer) => {
          answer.resume().on('error', () => resolve(answer.statusCode ?? 0));
          answer.once('close', () => resolve(answer.statusCode ?? 0));
        },
      );
      req.on('error', () => resolve(0));
      req.end(body);
    }).then((status) => {
      if (!signal.aborted) counts[status] = (counts[status] ?? 0) + 1;
      return status;
    });
  await rudeCallers[name]({ team, signal, send });
  for (const agent of agents.values()) agent.destroy();
  return counts;
}
