import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { signIn } from '../../support/clusters/client.js';
import { aCluster } from '../../support/clusters/journey.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../support/clusters/start-cluster-system.js';
import { ZONE } from '../../support/system/system-parts.js';

/* Two teams at the default limits, each at an address of its own. One sends as much as it can, the other within the limits. */

const POLITE_REQUESTS = 16;
const POLITE_PAUSE_MS = 250;
const DEFAULTS = { LIMIT_PER_ADDRESS: undefined, CONNECTIONS_PER_ADDRESS: undefined } as const;

interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}
interface Tenant {
  readonly agent: Agent;
  /** A list of record sets, a write of one, a list of clusters, and a change of one. */
  calls(index: number): readonly [Call, Call, Call, Call];
}

let system: ClusterSystem;
let polite: Tenant;
let rude: Tenant;
beforeAll(async () => {
  system = await startClusterSystem({
    gateways: 1,
    teams: ['polite', 'rude'],
    apiEnv: { ...DEFAULTS, LIMIT_PER_PERSON: undefined },
    gatewayEnv: () => ({ ...DEFAULTS, LIMIT_PER_TOKEN: undefined, LIMIT_PER_TEAM: undefined }),
  });
  [polite, rude] = [await settle(0, '127.0.1.1'), await settle(1, '127.0.1.2')];
});
afterAll(() => system?.stop());

/** Gives a team a record set and a cluster. @param localAddress the address of this machine from which its requests come */
async function settle(at: number, localAddress: string): Promise<Tenant> {
  const { slug, member } = system.teams[at] as ClusterTeam;
  const { json } = await member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'neighbours' } });
  const rrsets = `${system.gateways[0]?.url}/zones/${ZONE}/rrsets`;
  const clusters = `${system.apis[0]?.base}/api/v1/teams/${slug}/clusters/`;
  const type = { 'content-type': 'application/json' };
  const token = { authorization: `Bearer ${json.token}`, ...type };
  const cookie = { cookie: await signIn(system.apis[0]?.base as string, `member@${slug}.test`), ...type };
  const agent = new Agent({ keepAlive: true, localAddress });
  const calls: Tenant['calls'] = (index) => {
    const records = [{ value: `192.0.2.${index % 250}` }];
    const cluster = aCluster(system, { nodePools: [], plan: index % 2 ? 'monthly' : 'payg' });
    return [
      { method: 'GET', url: rrsets, headers: token },
      {
        method: 'POST',
        url: `${rrsets}/www.${slug}/A/actions/set_records`,
        headers: token,
        body: JSON.stringify({ records }),
      },
      { method: 'GET', url: clusters, headers: cookie },
      { method: 'PUT', url: `${clusters}web/`, headers: cookie, body: JSON.stringify(cluster) },
    ];
  };
  const body = JSON.stringify({ name: `www.${slug}`, type: 'A', records: [{ value: '192.0.2.1' }] });
  expect(await send({ agent }, { method: 'POST', url: rrsets, headers: token, body })).toBe(201);
  return { agent, calls };
}

/** @returns the status, or 0 without an answer */
const send = ({ agent }: Pick<Tenant, 'agent'>, { url, body, ...call }: Call): Promise<number> =>
  new Promise((resolve) => {
    const sent = request(url, { agent, ...call }, (answer) => {
      const end = () => resolve(answer.statusCode ?? 0);
      answer.resume().on('error', end).once('close', end);
    });
    sent.on('error', () => resolve(0)).end(body);
  });

/** Announces a thousand bytes, and sends one every three seconds. */
function sendSlowly(base: string, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port), localAddress: '127.0.1.2' });
  socket.write('POST /v1/zones HTTP/1.1\r\nHost: corral\r\nContent-Length: 1000\r\n\r\n');
  const timer = setInterval(() => socket.write(' '), 3_000);
  signal.addEventListener('abort', () => socket.destroy());
  return new Promise((resolve) => {
    socket
      .resume()
      .on('error', () => undefined)
      .once('close', () => {
        clearInterval(timer);
        resolve();
      });
  });
}

const large = `{"spec":{"nodePools":[${'{},'.repeat(330_000)}{}]}}`;
const call = (at: number, which: 0 | 1 | 2 | 3): Call => rude.calls(at)[which];
const acts: readonly (readonly [what: string, lanes: number, act: (at: number, signal: AbortSignal) => unknown])[] = [
  ['changes of clusters', 290, (at) => send(rude, call(at, 3))],
  ['writes of record sets', 240, (at) => send(rude, call(at, 1))],
  ['lists', 200, (at) => send(rude, call(at, 0))],
  ['bodies that are nothing but nesting', 5, (at) => send(rude, { ...call(at, 1), body: '['.repeat(4_000) })],
  ['a megabyte of empty node pools', 4, (at) => send(rude, { ...call(at, 3), body: large })],
  [
    'tokens that do not exist',
    200,
    (at) => send(rude, { ...call(at, 0), headers: { authorization: `Bearer ${'x'.repeat(64)}` } }),
  ],
  [
    'streams of events',
    1_000,
    (at) => send(rude, { ...call(at, 2), url: call(at, 2).url.replace('/clusters/', '/events/') }),
  ],
  [
    'bytes slowly, over 300 connections to each service',
    600,
    (at, signal) => sendSlowly((at % 2 ? system.apis : system.gateways)[0]?.base as string, signal),
  ],
];

it.each(acts)('a team is not refused beside one that sends %s, %i at a time', async (_what, lanes, act) => {
  const over = new AbortController();
  const lane = async (at: number): Promise<void> => {
    for (let turn = at; !over.signal.aborted; turn += 1) {
      await act(turn, over.signal);
      await pause(5);
    }
  };
  const rudeness = Promise.all(Array.from({ length: lanes }, (_, at) => lane(at)));

  const refused: string[] = [];
  for (let at = 0; at < POLITE_REQUESTS; at += 1) {
    const each = polite.calls(at)[at % 4] as Call;
    const status = await send(polite, each);
    if (status < 200 || status > 299) refused.push(`${each.method} ${each.url}: ${status}`);
    await pause(POLITE_PAUSE_MS);
  }
  over.abort();
  rude.agent.destroy();
  await rudeness;

  expect(refused).toEqual([]);
});
