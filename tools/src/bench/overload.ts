import { dnsTokenStore, teamStore } from '@corral/auth';
import { connectPrisma } from '@corral/database';
import { type ClusterRig, signIn, startClusterRig } from './cluster-rig.js';
import { crowd, type Senders, type Served } from './crowd.js';
import { type DnsRig, startDnsRig, ZONE } from './dns-rig.js';
import { bearer } from './load.js';
import { fillMirror } from './mirror-rows.js';
import { table } from './report.js';

const say = (line: string) => console.log(line);
const ROUNDS = 3;
const TIMES = 5;
/** By one team; enough to keep the service busy at all times. */
const SATURATING = 16;
const PAUSELESS = 400;
/** What the busiest team sends of all, the next one, the third, and one that sends little whatever the others do. */
const shares = [0.6, 0.25, 0.15] as const;
const QUIET_SHARE = 0.05;
const QUIET = 'quiet';

export interface OverloadBenchOptions {
  /** Of each measurement. */
  readonly seconds: number;
}

/** Where a team's requests go, and by what it is known; the last team is the quiet one. */
type Teams = readonly Pick<Senders, 'team' | 'url' | 'headers'>[];

/** Compares what becomes of accepted requests at half the load that saturates and at five times that, in turns on one machine. */
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
    ['half the load', paced(teams, saturated / 2, saturated)],
    [`${TIMES} times the load`, paced(teams, saturated * TIMES, saturated)],
    [`${PAUSELESS / 10} that never pause`, pauseless(teams, PAUSELESS / 10, saturated)],
    [`${PAUSELESS} that never pause`, pauseless(teams, PAUSELESS, saturated)],
  ];
  const rounds: Map<string, Served>[][] = loads.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, [, senders]] of loads.entries()) rounds[index]?.push(await crowd(senders, seconds));
  }
  const rows = loads.flatMap(([name], index) =>
    [first.team, QUIET].map((team) => row(`${name}, ${team}`, medianOf(rounds[index] as Map<string, Served>[], team))),
  );
  say(`${what}: saturated at ${saturated.toFixed(0)} per second by ${SATURATING} connections`);
  say(table(['load, team', 'accepted/s', 'refused/s', 'p50 ms', 'p99 ms'], rows));
}

const row = (what: string, { acceptedPerSecond, refusedPerSecond, p50Ms, p99Ms }: Served): string[] => [
  ...[what, acceptedPerSecond.toFixed(0), refusedPerSecond.toFixed(0), p50Ms.toFixed(1), p99Ms.toFixed(1)],
];

/** The round whose p99 is the median. */
function medianOf(rounds: readonly Map<string, Served>[], team: string): Served {
  const sorted = rounds.map((round) => round.get(team) as Served).sort((a, b) => a.p99Ms - b.p99Ms);
  return sorted[Math.floor(sorted.length / 2)] as Served;
}

/** At a rate, over many connections. */
function paced(teams: Teams, perSecond: number, saturated: number): Senders[] {
  return teams.map((team, index) => ({
    ...{ ...team, address: `127.0.0.${10 + index}` },
    connections: Math.ceil(PAUSELESS * (shares[index] ?? QUIET_SHARE)),
    perSecond: team.team === QUIET ? saturated * QUIET_SHARE : perSecond * (shares[index] as number),
  }));
}

/** The next request as soon as the last one is answered; the quiet team sends at its rate. */
function pauseless(teams: Teams, connections: number, saturated: number): Senders[] {
  return paced(teams, 0, saturated).map((senders, index) =>
    senders.team === QUIET
      ? senders
      : { ...senders, connections: Math.ceil(connections * (shares[index] as number)), perSecond: null },
  );
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
