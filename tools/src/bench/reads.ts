import { Agent, get } from 'node:http';
import { freePort } from '@corral/testing';
import autocannon from 'autocannon';
import { mustExchange } from '../rig/exchange.js';
import { UNLIMITED } from '../rig/rig.js';
import { ZONE } from '../rig/services.js';
import { quantile } from './arrivals.js';
import type { Installation } from './installation.js';
import { type Reads, startPowerDns } from './powerdns.js';
import { setOf, slugOf } from './sizes.js';

export interface Compared {
  readonly what: 'list' | 'get';
  /** Reads per second: of one gateway, and of what it is compared with. Null if that is not installed. */
  readonly gateway: number;
  readonly bareExpress: number;
  /** Reads of the gateway by the client that PowerDNS needs. */
  readonly gatewayPlainly: number;
  readonly powerDns: number | null;
}

const CONNECTIONS = 16;
const PAGE = 25;
const ROUNDS = 3;
const TEAM = 0;

/** Measures one gateway without limits, bare Express and PowerDNS alternately, as fast as they can. @param seconds of each part */
export async function compareReads(installation: Installation, seconds: number): Promise<Compared[]> {
  const { rig, start, tokens } = installation;
  const open = ['LIMIT_PER_ADDRESS', 'LIMIT_PER_TOKEN', 'LIMIT_PER_TEAM'].map((name) => [name, UNLIMITED]);
  const { url } = await start.gateway(Object.fromEntries(open));
  const sets = `/v1/zones/${ZONE}/rrsets`;
  const paths = { list: sets, get: `${sets}/${setOf(TEAM, 0)}/A` };
  const gateway = readsAt(url, paths, { authorization: `Bearer ${tokens[TEAM]}` });
  const bare = await startBareExpress(installation, gateway, paths);
  const names = Array.from({ length: PAGE }, (_, at) => setOf(TEAM, at));
  const powerDns = await startPowerDns(rig, ZONE, names);
  const compared: Compared[] = [];
  for (const what of ['list', 'get'] as const) {
    const rates: Record<'gateway' | 'bareExpress' | 'gatewayPlainly' | 'powerDns', number[]> = {
      gateway: [],
      bareExpress: [],
      gatewayPlainly: [],
      powerDns: [],
    };
    await kept(gateway, what, seconds);
    await kept(bare, what, seconds);
    for (let round = 0; round < ROUNDS; round += 1) {
      rates.gateway.push(await kept(gateway, what, seconds));
      rates.bareExpress.push(await kept(bare, what, seconds));
      if (powerDns === null) continue;
      rates.gatewayPlainly.push(await plain(gateway, what, seconds));
      rates.powerDns.push(await plain(powerDns, what, seconds));
    }
    const median = (of: number[]) => quantile(of, 0.5);
    compared.push({
      what,
      gateway: median(rates.gateway),
      bareExpress: median(rates.bareExpress),
      gatewayPlainly: median(rates.gatewayPlainly),
      powerDns: powerDns === null ? null : median(rates.powerDns),
    });
  }
  return compared;
}

const readsAt = (url: string, paths: { list: string; get: string }, headers: Record<string, string>): Reads => ({
  headers,
  list: `${url}${paths.list}`,
  get: `${url}${paths.get}`,
});

async function startBareExpress(
  { rig }: Installation,
  gateway: Reads,
  paths: { list: string; get: string },
): Promise<Reads> {
  const agent = new Agent();
  const read = (url: string) => mustExchange({ url, method: 'GET', headers: gateway.headers }, agent);
  const bodies = { [paths.list]: await read(gateway.list), [paths.get]: await read(gateway.get) };
  agent.destroy();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    PORT: String(port),
    BODIES: JSON.stringify(bodies),
    DATABASE_URL: rig.databaseUrl,
    OWNER: slugOf(TEAM),
  };
  await rig.run('tools/dist/bench/bare-express.js', env, `${url}${paths.get}`);
  return readsAt(url, paths, {});
}

/** Reads per second on connections that stay open. */
async function kept(reads: Reads, what: 'list' | 'get', seconds: number): Promise<number> {
  const { non2xx, errors, requests, duration } = await autocannon({
    url: reads[what],
    headers: { ...reads.headers },
    connections: CONNECTIONS,
    duration: seconds,
  });
  if (non2xx > 0 || errors > 0) throw new Error(`${reads[what]}: ${non2xx} refusals, ${errors} errors`);
  return requests.total / duration;
}

/** The same with the client of Node.js, for a server that closes the connection after each answer. */
async function plain({ headers, ...urls }: Reads, what: 'list' | 'get', seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const read = () =>
    new Promise<void>((resolve, reject) => {
      const request = get(urls[what], { headers, agent }, (response) => {
        response.resume().on('error', reject);
        response.on('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`${urls[what]} was answered ${response.statusCode}`));
        });
      });
      request.on('error', reject);
    });
  const endsAt = performance.now() + seconds * 1_000;
  let count = 0;
  const keepReading = async () => {
    for (; performance.now() < endsAt; count += 1) await read();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, keepReading));
  agent.destroy();
  return count / seconds;
}
