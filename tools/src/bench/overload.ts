import { dnsTokenStore, teamStore } from '@corral/auth';
import { connectPrisma } from '@corral/database';
import { type ClusterRig, signIn, startClusterRig } from './clusters/cluster-rig.js';
import { type DnsRig, startDnsRig, ZONE } from './dns/dns-rig.js';
import { fillMirror } from './dns/mirror-rows.js';
import { crowd, type Senders, type Served } from './load/crowd.js';
import { bearer, middleBy } from './load/load.js';
import { say, table } from './load/report.js';
import { startLoad } from './load/start-load.js';

const ROUNDS = 3;
const TIMES = 5;
/** The requests in flight of one team that keep the service busy at all times. */
const SATURATING = 16;
const PAUSELESS = 400;
/** The shares of the busiest team, the next one, the third, and one that sends little whatever the others do. */
const shares = [0.6, 0.25, 0.15] as const;
const QUIET_SHARE = 0.05;
const QUIET = 'quiet';
/** Enough connections for the measured requests of a team, however long each takes. */
const PROBES = 40;
const WARM_UP_SECONDS = 2;
/** The load starts before the measurement and ends after it. */
const AROUND_SECONDS = 2;

export interface OverloadBenchOptions {
  /** The duration of each measurement. */
  readonly seconds: number;
}

/** Where the requests of a team go, and the headers that identify it. The last team is the quiet one. */
type Teams = readonly Pick<Senders, 'team' | 'url' | 'headers'>[];

/**
 * Compares the outcomes of requests at half the saturating load and at five times that, in turns on one machine. The
 * latency is measured with few requests of the busiest team and of the quiet one, from a process that does nothing else:
 * the process that sends the load has no time to read its answers as they arrive.
 */
export async function benchOverload({ seconds }: OverloadBenchOptions): Promise<void> {
  const dns = await startDnsRig();
  try {
    await compare('reads of a record set', await dnsTeams(dns), seconds);
  } finally {
    await dns.stop();
  }
  const clusters = await startClusterRig();
  try {
    await compare('lists of clusters', await clusterTeams(clusters), seconds);
  } finally {
    await clusters.stop();
  }
}

async function compare(what: string, teams: Teams, seconds: number): Promise<void> {
  const [first] = teams as [Teams[number]];
  const one = { ...first, address: '127.0.0.9', connections: SATURATING, perSecond: null };
  await crowd([one], seconds);
  const saturated = (await crowd([one], seconds)).get(first.team)?.acceptedPerSecond as number;
  const loads: readonly (readonly [string, readonly Senders[]])[] = [
    ['half the load', paced(teams, saturated / 2)],
    [`${TIMES} times the load`, paced(teams, saturated * TIMES)],
    [`${PAUSELESS / 10} that never pause`, pauseless(teams, PAUSELESS / 10)],
    [`${PAUSELESS} that never pause`, pauseless(teams, PAUSELESS)],
  ];
  const rounds: Map<string, Served>[][] = loads.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, [, load]] of loads.entries()) {
      rounds[index]?.push(await measureBeside(load, probes(teams, saturated), seconds));
    }
  }
  const rows = loads.flatMap(([name], index) =>
    [first.team, QUIET].map((team) => row(`${name}, ${team}`, medianOf(rounds[index] as Map<string, Served>[], team))),
  );
  say(`${what}: saturated at ${saturated.toFixed(0)} per second by ${SATURATING} connections`);
  say(table(['load, team', 'accepted/s', 'refused/s', 'p50 ms', 'p99 ms'], rows));
}

const row = (what: string, { acceptedPerSecond, refusedPerSecond, p50Ms, p99Ms }: Served): string[] => [
  what,
  acceptedPerSecond.toFixed(0),
  refusedPerSecond.toFixed(0),
  p50Ms.toFixed(1),
  p99Ms.toFixed(1),
];

/** Returns the round with the median p99. */
function medianOf(rounds: readonly Map<string, Served>[], team: string): Served {
  const ofTeam = rounds.map((round) => round.get(team) as Served);
  return middleBy(ofTeam, ({ p99Ms }) => p99Ms);
}

async function measureBeside(
  load: readonly Senders[],
  probes: readonly Senders[],
  seconds: number,
): Promise<Map<string, Served>> {
  const started = await startLoad({
    kind: 'crowd',
    senders: load,
    seconds: seconds + WARM_UP_SECONDS + AROUND_SECONDS,
  });
  const served = await crowd(probes, seconds, WARM_UP_SECONDS);
  const ofLoad = JSON.parse(await started.ended) as Record<string, Served>;
  return new Map(
    [...served].map(([team, probe]) => {
      const { acceptedPerSecond = 0, refusedPerSecond = 0 } = ofLoad[team] ?? {};
      const all = {
        acceptedPerSecond: probe.acceptedPerSecond + acceptedPerSecond,
        refusedPerSecond: probe.refusedPerSecond + refusedPerSecond,
      };
      return [team, { ...probe, ...all }];
    }),
  );
}

/** The measured requests: a twentieth of the saturating rate, by the busiest team and by one that sends no more than that. */
function probes(teams: Teams, saturated: number): Senders[] {
  return [teams[0], teams.at(-1)].map((team, index) => ({
    ...(team as Teams[number]),
    address: `127.0.0.${20 + index}`,
    connections: PROBES,
    perSecond: saturated * QUIET_SHARE,
  }));
}

/** Load at a fixed rate over many connections. The quiet team only sends the measured requests. */
function paced(teams: Teams, perSecond: number): Senders[] {
  return shares.map((share, index) => ({
    ...(teams[index] as Teams[number]),
    address: `127.0.0.${10 + index}`,
    connections: Math.ceil(PAUSELESS * share),
    perSecond: perSecond * share,
  }));
}

/** Load that sends the next request as soon as the last one is answered. */
function pauseless(teams: Teams, connections: number): Senders[] {
  return paced(teams, 0).map((senders, index) => ({
    ...senders,
    perSecond: null,
    connections: Math.ceil(connections * (shares[index] as number)),
  }));
}

const slugs = ['busiest', 'busy', 'third', QUIET];

async function dnsTeams(rig: DnsRig): Promise<Teams> {
  const prisma = connectPrisma(rig.base.databaseUrl);
  const teams: Teams[number][] = [];
  for (const slug of slugs) {
    const team = await teamStore(prisma).createTeam(slug);
    const { token } = await dnsTokenStore(prisma).issueToken(team, { name: 'bench' });
    await fillMirror(rig, slug, 25);
    teams.push({ team: slug, url: `${rig.gatewayUrl}/zones/${ZONE}/rrsets/s0.${slug}/A`, headers: bearer(token) });
  }
  await prisma.$disconnect();
  return teams;
}

async function clusterTeams(rig: ClusterRig): Promise<Teams> {
  const teams: Teams[number][] = [];
  for (const slug of slugs) {
    const cookie = await signIn(rig.databaseUrl, rig.baseUrl, slug);
    teams.push({ team: slug, url: `${rig.baseUrl}/api/v1/teams/${slug}/clusters/`, headers: { cookie } });
  }
  return teams;
}
