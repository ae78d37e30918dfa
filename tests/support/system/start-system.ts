import { dnsTokenStore, type TeamRecord, teamStore } from '@corral/auth';
import type { Pool } from '@corral/database';
import type { LocalCloud } from './local-cloud.js';
import { type Program, runAdmin } from './program.js';
import {
  DEMO_ZONE,
  type Ends,
  type Env,
  type Gateway,
  gateway,
  many,
  ownGround,
  reconciler,
  shortWaits,
  startAll,
  undo,
  undoing,
  withPrisma,
  ZONE,
} from './system-parts.js';

export { DEMO_ZONE, ZONE };

export interface SystemOptions {
  /** The default is 1. */
  readonly gateways?: number;
  /** The default is 1. */
  readonly reconcilers?: number;
  /** Teams with one token each. The default is `acme`. */
  readonly teams?: readonly string[];
  /** The default is no Redis, so that jobs go through Postgres. */
  readonly redisUrl?: string | undefined;
  /** The default is a new database in the Postgres of this run. The caller drops a database that it passes. */
  readonly databaseUrl?: string;
  /** Overrides variables of every gateway, or of the one with this number, counted from 1. */
  readonly gatewayEnv?: Env | ((index: number, cloud: LocalCloud) => Env);
  /** Overrides variables of every reconciler. */
  readonly reconcilerEnv?: Readonly<Record<string, string>>;
  /** Options for the Node.js of the gateway with this number, counted from 1. */
  readonly gatewayNodeArgs?: (index: number) => readonly string[];
  /** Whether there are demos, in their own zone. The default is false. */
  readonly demos?: boolean;
  /** Requests that the upstream grants per hour, in a burst or evenly. The default is more than any test sends. */
  readonly requestsPerHour?: number;
  /** How long an action of the upstream runs. The default is 100. */
  readonly actionMs?: number;
}

export interface Team {
  readonly id: string;
  readonly slug: string;
  readonly token: string;
}

export interface System {
  readonly cloud: LocalCloud;
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly gateways: readonly Gateway[];
  readonly reconcilers: readonly Program[];
  /** Teams in the order of `teams`. */
  readonly teams: readonly Team[];
  /** The address of the first gateway, which ends in `/v1`. */
  readonly url: string;
  /** Issues one more token of a team. */
  issueToken(team: Team): Promise<string>;
  /** Runs the operator command. @throws Error with its output if it exits with another code than 0 */
  admin(...args: string[]): Promise<string>;
  /** Ends every process and removes everything that was created. */
  stop(): Promise<void>;
}

/** The grace of every service that calls the upstream: short enough for a test, as in `shortTimes`. */
const shortGrace = { DNS_SETTLE_GRACE_MS: '1s' } as const;
/** Intervals of reconcilers that are short enough for a test, with the same ratios as in production. */
const shortTimes = {
  ...shortGrace,
  UPSTREAM_TIMEOUT_MS: '1s',
  UPSTREAM_WAIT_MS: '1s',
  DNS_SETTLE_INTERVAL_MS: '200ms',
  DNS_ACTION_INTERVAL_MS: '500ms',
  DNS_SYNC_INTERVAL_MS: '1h',
  JOB_LOCK_MS: '2s',
} as const;

/** Settings of gateways that are killed: another gateway takes over their writes after 11 s instead of 23 s. */
export const shortLeases = { ...shortWaits, UPSTREAM_TIMEOUT_MS: '3s', UPSTREAM_WAIT_MS: '3s' } as const;

/** The whole product as an operator runs it: real processes, real sockets, a real Postgres, and Redis if asked for. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const { gateways = 1, reconcilers = 1, teams: slugs = ['acme'], demos = false } = options;
  const ends: Ends = [];
  try {
    const ground = await ownGround(ends, options);
    const { databaseUrl, cloud, pool, databases } = ground;
    const shared = { ...ground.shared, DEMO_ZONE_NAME: demos ? DEMO_ZONE : undefined };
    const ofGateways = options.gatewayEnv;
    const gatewayEnv = typeof ofGateways === 'function' ? ofGateways : () => ofGateways;
    const reconcilerEnv = { ...shortTimes, ...shared, ...databases.reconciler, ...options.reconcilerEnv };
    const started = {
      reconcilers: await many(reconcilers, (at) => reconciler(at, { env: reconcilerEnv })),
      gateways: await many(gateways, (at) =>
        gateway(
          at,
          {
            ...shortGrace,
            ...shared,
            ...databases['dns-gateway'],
            DEMOS_ENABLED: String(demos),
            ...gatewayEnv(at, cloud),
          },
          { nodeArgs: options.gatewayNodeArgs?.(at) ?? [] },
        ),
      ),
    };
    const [teams] = await Promise.all([
      createTeams(databaseUrl, slugs),
      startAll([...started.reconcilers, ...started.gateways], ends),
    ]);
    return {
      cloud,
      databaseUrl,
      pool,
      teams,
      ...started,
      url: started.gateways[0]?.url ?? '',
      issueToken: ({ slug }) => issueToken(databaseUrl, slug),
      admin: (...args) =>
        runAdmin(args, { DATABASE_URL: databaseUrl, REDIS_URL: options.redisUrl, DNS_ZONE_NAME: ZONE }),
      stop: undoing(ends),
    };
  } catch (error) {
    await undo(ends);
    throw error;
  }
}

const createTeams = (databaseUrl: string, slugs: readonly string[]): Promise<Team[]> =>
  withPrisma(databaseUrl, async (prisma) => {
    const teams: Team[] = [];
    for (const slug of slugs) {
      const { id } = await teamStore(prisma).createTeam(slug);
      teams.push({ id, slug, token: await issueToken(databaseUrl, slug) });
    }
    return teams;
  });

/** @param withinName the name within which the token may write. The default is that of the team */
export const issueToken = (databaseUrl: string, slug: string, withinName?: string): Promise<string> =>
  withPrisma(databaseUrl, async (prisma) => {
    const team = (await teamStore(prisma).findTeam(slug)) as TeamRecord;
    const wanted = { name: 'system test', ...(withinName === undefined ? {} : { withinName }) };
    return (await dnsTokenStore(prisma).issueToken(team, wanted)).token;
  });
