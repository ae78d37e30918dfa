import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, type FairQueue, fairQueue } from '@corral/admission';
import { retentionLimits } from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import {
  type ActionStore,
  type AnsweredRecorder,
  actionStore,
  type CopyStore,
  copyStore,
  type DemoEnds,
  type DemoStore,
  type DriftReporter,
  demoEnds,
  demoStore,
  driftReporter,
  type MirrorStore,
  mirrorStore,
  type PollLeases,
  type PropagationStore,
  pollLeases,
  propagationStore,
  type ReadRrset,
  type ReadTokenUse,
  type RecordQuota,
  type RefusedWrites,
  refusedWrites,
  type SettlementStore,
  settlementStore,
  tokenUseReader,
  type UpstreamAnswer,
  upstreamReader,
  type WriteLedger,
  type ZoneSyncStore,
  zoneSyncStore,
} from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import type { Log, Metrics } from '@corral/service';
import type { RequestLimits } from './http/limits.js';
import type { NameServers } from './name-servers.js';
import { type ZoneDirectory, type Zones, zoneDirectory, zonesOf } from './zones/zone-directory.js';

/** All times are in milliseconds. */
export interface ServicesConfig {
  readonly zoneName: string;
  /** Base address of the API for its clients. Null when the operator has not stated it. */
  readonly publicUrl: string | null;
  readonly quota: RecordQuota;
  /** Null where demos are switched off. */
  readonly demos: DemoConfig | null;
  /** How long the upstream may still be processing a write without a usable answer. */
  readonly settleAfterMs: number;
  /** Maximum time that a client then waits for the outcome of its write. */
  readonly settleWithinMs: number;
  /** How long after an accepted write the upstream may not show it yet. */
  readonly settleGraceMs: number;
  /** Minimum time between two upstream calls of all processes together. A younger answer is fresh enough. */
  readonly actionPollMs: number;
  /** Maximum time for which a read is held. */
  readonly actionHoldMs: number;
  /** An action that runs for longer is reported as failed, because some clients would wait forever. */
  readonly actionRunningMsMax: number;
  /** How long after its write an action waits for name servers. */
  readonly propagationMsMax: number;
}

export interface DemoConfig {
  readonly zoneName: string;
  /** Live demos that a team may have. */
  readonly perTeam: number;
}

/** What the services are made of. */
export interface Connections {
  /** The pool for the reads of record sets. */
  readonly pool: Pool;
  /** The client for all else. */
  readonly prisma: Prisma;
  /** The client on the connections for writes: for what waits for the rows of owners. */
  readonly writePrisma: Prisma;
  readonly ledger: WriteLedger;
  readonly upstream: HcloudClient;
  readonly answered: AnsweredRecorder;
  /** Those of the zone of the teams. Null if actions end without them. */
  readonly nameServers: NameServers | null;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface ServicesOptions {
  readonly config: ServicesConfig;
  /** Times held reads. */
  readonly clock: Clock;
  /** Aborted when the process takes no more connections: reads that are held end, and nothing is held afterwards. */
  readonly draining: AbortSignal;
  readonly limits: RequestLimits;
}

/** Everything that the routes and use cases of the app work with. */
export interface Services extends ServicesOptions {
  readonly log: Log;
  /** The clock of scopes. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<unknown>;

  readonly zones: Zones;
  readonly mirror: MirrorStore;
  readonly sync: ZoneSyncStore;
  readonly readTokenUse: ReadTokenUse;
  /** Null where demos are switched off. */
  readonly demos: DemoServices | null;

  readonly ledger: WriteLedger;
  readonly copies: CopyStore;
  readonly settlements: SettlementStore;
  readonly refused: RefusedWrites;
  /** It records which answers this process has delivered. */
  readonly answered: AnsweredRecorder;
  readonly reportDrift: DriftReporter;
  /** Takes one write of each set at a time. */
  readonly sets: FairQueue;
  /** Takes one write of each owner at a time. */
  readonly owners: FairQueue;
  /** Waiting and running writes of this process, by the identity of their exact repetitions. */
  readonly underWay: Map<string, WriteUnderWay>;

  readonly actions: ActionStore;
  readonly polls: PollLeases;
  readonly followers: Followers;
  /** Null if actions end without name servers. */
  readonly propagation: { readonly servers: NameServers; readonly store: PropagationStore } | null;

  readonly upstream: HcloudClient;
  /** Reads one set from the upstream. */
  readonly read: ReadRrset;
}

export interface WriteAnswer extends UpstreamAnswer {
  readonly entryId: number;
}

/** The clients that wait for the answer of one write. */
export interface Audience {
  /** Aborted when all clients that wait for the answer have disconnected. */
  readonly gone: AbortSignal;
  /** Another client waits for the answer. @param gone aborted when it disconnects */
  join(gone: AbortSignal): void;
}

/** A write, which may be one request sent several times. */
interface WriteUnderWay extends Audience {
  readonly answer: Promise<WriteAnswer>;
}

/** A client that waits for actions. */
export interface Follower {
  readonly until: FollowUntil;
  /** Time of the last known state, by action id. */
  readonly knownAt: ReadonlyMap<number, number>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** `reported`: the upstream has reported all of them again. `ended`: the first of them has ended. */
export type FollowUntil = 'reported' | 'ended';

/** Clients of this process that wait for actions, and whether its loop runs. */
interface Followers {
  readonly waiting: Set<Follower>;
  isLooping: boolean;
}

export interface DemoServices {
  readonly zone: ZoneDirectory;
  readonly store: DemoStore;
  readonly ends: DemoEnds;
}

/** The scopes of the requests bound number and time of the waits. */
const oneAtATime = {
  concurrency: Number.POSITIVE_INFINITY,
  perOwner: 1,
  waiting: Number.POSITIVE_INFINITY,
  waitingPerOwner: Number.POSITIVE_INFINITY,
  waitMs: Number.POSITIVE_INFINITY,
};
/** Time during which this process deletes the records of a deleted demo; afterwards the reconciler does. */
const CLEAR_LEASE_MS = 10_000;

/** Builds the services of the app on what it is connected to. */
export function buildServices(
  { pool, prisma, writePrisma, ledger, upstream, answered, nameServers, metrics, log }: Connections,
  { config, ...ofApp }: ServicesOptions,
): Services {
  const mirror = mirrorStore(pool);
  const directoryOf = (zoneName: string) => zoneDirectory({ zoneName, find: mirror.findZone });
  const demos = config.demos && {
    zone: directoryOf(config.demos.zoneName),
    store: demoStore(prisma, { demosPerTeam: config.demos.perTeam, clearLeaseMs: CLEAR_LEASE_MS }),
    ends: demoEnds(prisma),
  };
  return {
    ...ofApp,
    config,
    log,
    now: () => performance.now(),
    pause,
    zones: zonesOf(directoryOf(config.zoneName), demos?.zone ?? null),
    mirror,
    sync: zoneSyncStore(writePrisma),
    readTokenUse: tokenUseReader(prisma),
    demos,
    ledger,
    copies: copyStore(prisma, retentionLimits.replaySeconds * 1_000),
    settlements: settlementStore(writePrisma),
    refused: refusedWrites(writePrisma),
    answered,
    reportDrift: driftReporter(metrics, log),
    sets: fairQueue(oneAtATime),
    owners: fairQueue(oneAtATime),
    underWay: new Map(),
    actions: actionStore(prisma),
    polls: pollLeases(prisma),
    followers: { waiting: new Set(), isLooping: false },
    propagation: nameServers && { servers: nameServers, store: propagationStore(prisma) },
    upstream,
    // A new reader per read, because a zone that was found once may be unreachable the next time.
    read: (key, purpose) => upstreamReader(upstream)(key, purpose),
  };
}
