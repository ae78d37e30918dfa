import { type ClusterRoute, clusterRequestExamples, clusterRoutes, type DnsRoute, dnsRoutes } from '@corral/contracts';
import { type RawAnswer, sendRaw } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { signIn } from '../support/clusters/client.js';
import { startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { type HostileBody, hostileBodies } from '../support/stalls/hostile-bodies.js';
import { reportsStalls, type StallMeter, stallMeter } from '../support/stalls/stalls.js';
import type { Program } from '../support/system/program.js';
import { startSystem, type Team, ZONE } from '../support/system/start-system.js';
import type { Gateway } from '../support/system/system-parts.js';

/*
 * A single request must not block all others. The test measures inside the service how long its event loop stalls, and
 * compares this with the stalls that valid requests cause in the same run, as the machine may be slow and busy.
 */

const STALL_MS_MAX = 50;
/** The machine causes a stall occasionally, a body each time. */
const TRIES = 3;
const SIZES = [4_096, 262_144, 1_048_576];
const TIMEOUT_MS = 300_000;

let stop: () => Promise<void> = async () => undefined;
afterEach(() => stop(), 120_000);

interface Target {
  readonly name: string;
  readonly example: object;
  send(body: Pick<HostileBody, 'body' | 'headers'>): Promise<RawAnswer | null>;
}

interface Finding {
  readonly route: string;
  readonly what: string;
  readonly stalledMs: number;
}

/** The service may also answer by closing the connection while the client still sends. */
const orCut = (answer: Promise<RawAnswer>): Promise<RawAnswer | null> => answer.catch(() => null);

async function floorOf(meter: StallMeter, targets: readonly Target[]): Promise<number> {
  const stalls: number[] = [];
  for (const { example, send } of [...targets, ...targets, ...targets]) {
    const right = { body: JSON.stringify(example), headers: [['Content-Type', 'application/json'] as const] };
    stalls.push(await meter.during(() => send(right)));
  }
  // The first requests compile the code that they use.
  return Math.max(...stalls.slice(targets.length));
}

/** @returns the bodies that stalled the program every time they were sent */
async function findStalls(program: Program, targets: readonly Target[]): Promise<Finding[]> {
  const meter = stallMeter(program);
  const boundMs = STALL_MS_MAX + (await floorOf(meter, targets));
  const found: Finding[] = [];
  for (const { name, example, send } of targets) {
    for (const hostile of SIZES.flatMap((bytes) => hostileBodies(example, bytes))) {
      let stalledMs = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < TRIES && stalledMs > boundMs; attempt += 1) {
        const now = await meter.during(async () => {
          const answer = await send(hostile);
          if (answer !== null) expect([name, hostile.what, answer.status < 500]).toEqual([name, hostile.what, true]);
        });
        stalledMs = Math.min(stalledMs, now);
      }
      if (stalledMs > boundMs) found.push({ route: name, what: `${hostile.what} (${hostile.body.length})`, stalledMs });
    }
  }
  return found;
}

const dnsExamples: Readonly<Record<string, object>> = {
  createRrset: {
    name: 'x.acme',
    type: 'TXT',
    ttl: 60,
    labels: { env: 'prod' },
    records: [{ value: '"x"', comment: 'x' }],
  },
  setRecords: { records: [{ value: '"x"', comment: 'x' }] },
  addRecords: { ttl: 60, records: [{ value: '"x"' }] },
  removeRecords: { records: [{ value: '"x"' }] },
  changeTtl: { ttl: 300 },
  updateRrset: { labels: { env: 'prod' } },
  createDemo: { name: 'x', ttl: 300, course_code: 'x' },
  extendDemo: { ttl: 300 },
};

function dnsTargets(gateway: Gateway, { token }: Team): Target[] {
  const names: Readonly<Record<string, string>> = { zone: ZONE, name: 'x.acme', type: 'TXT', label: 'none' };
  const routes: readonly DnsRoute[] = dnsRoutes;
  const target = (route: DnsRoute, sender: string | null): Target => ({
    name: `${route.operationId} ${sender === null ? 'without a token' : 'of a team'}`,
    example: dnsExamples[route.operationId] as object,
    send: ({ body, headers }) => {
      const path = `/v1${route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => names[name] as string)}`;
      return orCut(sendRaw(gateway.url, { method: route.method.toUpperCase(), path, token: sender, body, headers }));
    },
  });
  return routes
    .filter(({ body }) => body !== undefined)
    .flatMap((route) => [target(route, token), ...(route.tokenless === undefined ? [] : [target(route, null)])]);
}

function clusterTargets(base: string, cookie: string, teamNumber: number): Target[] {
  const names: Readonly<Record<string, string>> = {
    team: 'acme',
    team_slug: 'acme',
    team_id: String(teamNumber),
    ref: 'main',
  };
  const routes: readonly ClusterRoute[] = clusterRoutes;
  return routes
    .filter(({ body }) => body !== undefined)
    .map((route) => ({
      name: route.operationId,
      example: clusterRequestExamples[route.operationId] as object,
      send: ({ body, headers }) => {
        const path = route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => names[name] ?? 'none');
        const all = [...headers, ['Cookie', cookie] as const];
        return orCut(sendRaw(base, { method: route.method.toUpperCase(), path, body, headers: all }));
      },
    }));
}

describe('a body of any kind, on any route that takes one', () => {
  it(
    'does not hold up the DNS gateway',
    async () => {
      const system = await startSystem({ demos: true, gatewayNodeArgs: () => reportsStalls });
      stop = () => system.stop();
      const [gateway] = system.gateways as readonly [Gateway];

      expect(await findStalls(gateway, dnsTargets(gateway, system.teams[0] as Team))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'does not hold up the cluster API',
    async () => {
      const system = await startClusterSystem({ apiEnv: { NODE_OPTIONS: reportsStalls.join(' ') } });
      stop = () => system.stop();
      const [api] = system.apis as readonly [(typeof system.apis)[number]];

      const { rows } = await system.pool.query<{ number: number }>('SELECT number FROM team');
      const cookie = await signIn(api.base, 'admin@acme.test');

      expect(await findStalls(api, clusterTargets(api.base, cookie, rows[0]?.number as number))).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
