/**
 * A process of its own that misbehaves: `node act-rudely.ts <what> <seconds>`, with the victim's addresses in the environment.
 * Node.js runs it as it is, so it imports nothing of the repository. At the end it prints how often each status was answered.
 */
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

interface RudeTeam {
  /** Addresses without a path. */
  readonly gateway: string;
  readonly api: string;
  readonly zone: string;
  readonly slug: string;
  readonly token: string;
  readonly cookie: string;
  /** The address that its requests come from. */
  readonly address: string;
  /** How many record sets `w0`, `w1` … it has. */
  readonly sets: number;
  /** A specification that the API accepts. */
  readonly spec: Readonly<Record<string, unknown>>;
}

interface RudeCall {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Opens a connection of its own, and follows an answer that never ends. */
  readonly follow?: boolean;
}

const [what = '', seconds = '1'] = process.argv.slice(2);
const team = JSON.parse(process.env.RUDE_TEAM ?? '{}') as RudeTeam;
const signal = AbortSignal.timeout(Number(seconds) * 1_000);
const agent = new Agent({ keepAlive: true, localAddress: team.address, maxSockets: 250 });
const counts: Record<number, number> = {};

const JSON_TYPE = { 'content-type': 'application/json' };
const token = { authorization: `Bearer ${team.token}` };
const cookie = { cookie: team.cookie };
const rrsets = `${team.gateway}/v1/zones/${team.zone}/rrsets`;
const clusters = `${team.api}/api/v1/teams/${team.slug}/clusters/`;
const MiB = 1_048_576;

async function send({ method, url, headers = {}, body, follow = false }: RudeCall): Promise<void> {
  const status = await new Promise<number>((resolve) => {
    const from = follow ? false : agent;
    const req = request(url, { method, agent: from, localAddress: team.address, headers, signal }, (answer) => {
      answer.resume().on('error', () => resolve(answer.statusCode ?? 0));
      answer.once('close', () => resolve(answer.statusCode ?? 0));
    });
    req.on('error', () => resolve(0));
    req.end(body);
  });
  if (!signal.aborted) counts[status] = (counts[status] ?? 0) + 1;
}

/** Repeats something with a pause so short that other requests of this process are just sent, too. */
async function again(work: () => Promise<unknown>, everyMs = 5): Promise<void> {
  while (!signal.aborted) {
    await work();
    await pause(everyMs);
  }
}
const times = (count: number, make: (index: number) => Promise<unknown>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const anyNumber = (): number => Math.floor(Math.random() * 250);

const putCluster = (index: number, body: string): Promise<void> =>
  send({ method: 'PUT', url: `${clusters}c${index % 10}/`, headers: { ...cookie, ...JSON_TYPE }, body });

const setRecords = (index: number): Promise<void> =>
  send({
    method: 'POST',
    url: `${rrsets}/w${index % team.sets}.${team.slug}/A/actions/set_records`,
    headers: { ...token, ...JSON_TYPE },
    body: JSON.stringify({ records: [{ value: `192.0.2.${anyNumber()}` }] }),
  });

async function createAndDelete(index: number): Promise<void> {
  const [name, headers] = [`tf${index % 100}.${team.slug}`, { ...token, ...JSON_TYPE }];
  const body = JSON.stringify({ name, type: 'A', records: [{ value: '192.0.2.1' }] });
  await send({ method: 'POST', url: rrsets, headers, body });
  await send({ method: 'GET', url: `${rrsets}/${name}/A`, headers: token });
  await send({ method: 'DELETE', url: `${rrsets}/${name}/A`, headers: token });
}

/** Announces a thousand bytes, and sends one every three seconds. */
function sendSlowly(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: team.address });
    socket.write(`POST /v1/zones/${team.zone}/rrsets HTTP/1.1\r\nHost: corral\r\n`);
    socket.write('Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n');
    const timer = setInterval(() => socket.write(' '), 3_000);
    signal.addEventListener('abort', () => socket.destroy());
    socket.resume().on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(timer);
      resolve();
    });
  });
}

/** Small bodies that consist of nesting alone, and a large one of a field that the API knows. */
const packed = gzipSync('['.repeat(MiB));
const deep = '['.repeat(4_000);
const wide = `{"spec":{"nodePools":[${Array.from({ length: 330_000 }, () => '{}').join(',')}]}}`;

const acts: Readonly<Record<string, () => Promise<unknown>>> = {
  'changes of clusters, 290 at a time': () =>
    again(() =>
      times(290, (index) =>
        putCluster(index, JSON.stringify({ spec: { ...team.spec, plan: index % 2 ? 'monthly' : 'payg' } })),
      ),
    ),
  'writes of record sets, 240 at a time': () => again(() => times(240, setRecords)),
  'bodies that are deep or packed': () =>
    again(
      () =>
        times(5, (index) =>
          send({
            method: 'POST',
            url: rrsets,
            headers: { ...token, ...JSON_TYPE, ...(index % 2 ? { 'content-encoding': 'gzip' } : {}) },
            body: index % 2 ? packed : deep,
          }),
        ),
      1_000,
    ),
  'a megabyte of empty node pools': () => times(4, (index) => again(() => putCluster(index, wide))),
  'slow connections, 300 to each service': () =>
    times(600, (index) => again(() => sendSlowly(index % 2 === 0 ? team.gateway : team.api), 1_000)),
  'streams of events, 1,000 with one session': () =>
    times(1_000, () =>
      again(
        () =>
          send({
            method: 'GET',
            url: `${team.api}/api/v1/teams/${team.slug}/events/`,
            headers: cookie,
            follow: true,
          }),
        1_000,
      ),
    ),
  'sets that are created and deleted, 30 at a time': () => times(30, (at) => again(() => createAndDelete(at))),
  'lists without a pause, 200 at a time': () =>
    times(200, () => again(() => send({ method: 'GET', url: `${rrsets}?per_page=50`, headers: token }))),
  'tokens that do not exist, 200 at a time': () =>
    times(200, () =>
      again(() => send({ method: 'GET', url: rrsets, headers: { authorization: `Bearer ${'x'.repeat(64)}` } })),
    ),
};

if (what === 'names') process.stdout.write(JSON.stringify(Object.keys(acts)));
else {
  await acts[what]?.();
  process.stdout.write(JSON.stringify(counts));
}
process.exit();
