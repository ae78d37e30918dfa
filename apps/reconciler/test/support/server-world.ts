import { asConnectionId, asServerId, asTeamId, type ServerId } from '@corral/contracts';
import { GardenError, type ShootNodes } from '@corral/garden';
import type { ProjectClient, ProjectOutcome, ServerAction, ServerReading } from '@corral/hcloud';
import { silentLog } from '@corral/service';
import fc from 'fast-check';
import { gardenGate } from '../../src/garden/gate.js';
import type { HoldStore } from '../../src/loop/hold.js';
import type { LeaseStore, PassLease } from '../../src/loop/lease.js';
import type { ServerTimes, Verdict, WantedServer } from '../../src/servers/model.js';
import { serverPass } from '../../src/servers/pass.js';
import type { ServerStore } from '../../src/servers/store.js';
import { aWanted } from './a-server.js';
import { fakeShoots } from './fake-shoots.js';
import { only } from './only.js';

/*
 * One server in virtual time, with a provider and clusters that may not answer, answer late, or act without answering, and with
 * processes that die before or after any call to them or to the database, or stall.
 */

type Trouble =
  | { readonly kind: 'none' }
  /** The process dies before or after the call takes effect. */
  | { readonly kind: 'dies'; readonly when: 'before' | 'after' }
  /** The response is lost: the call has no effect, an immediate effect, or takes effect up to that many seconds later. */
  | { readonly kind: 'lost'; readonly acts: 'never' | 'immediately' | 'later'; readonly afterS: number }
  /** Succeeds slowly. */
  | { readonly kind: 'slow'; readonly seconds: number }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'throttled' };

/** Together with the longest wait within a call, this stays below the grace period. */
const lostArbitrary: fc.Arbitrary<Trouble> = fc.record({
  kind: fc.constant('lost' as const),
  acts: fc.constantFrom('never', 'immediately', 'later'),
  afterS: fc.integer({ min: 0, max: 45 }),
});

export const troubleArbitrary: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'none' } as const) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('dies' as const), when: fc.constantFrom('before', 'after') }) },
  { weight: 3, arbitrary: lostArbitrary },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('slow' as const), seconds: fc.integer({ min: 1, max: 30 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('refused' as const), code: fc.constantFrom('locked', 'conflict') }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'throttled' } as const) },
);

/** Rebuild requests, which must not be repeated, meet these troubles. */
export const rebuildTroubleArbitrary = fc.oneof(
  troubleArbitrary,
  lostArbitrary,
  fc.constant<Trouble>({ kind: 'none' }),
);

interface WorldOptions {
  /** Consumed one per call. */
  readonly troubles: readonly Trouble[];
  /** Consumed by rebuild requests only, where faults matter most. */
  readonly rebuildTroubles: readonly Trouble[];
  readonly failsRebuild: boolean;
  readonly startMs: number;
  readonly times?: ServerTimes;
  readonly row?: Partial<WantedServer>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Called before each call of any kind, to let others act. */
  readonly onCall?: () => void;
  /** Called when a rebuild is requested. */
  readonly onAsk?: () => void;
  /** Called when the provider starts a rebuild, with the generation that requested it. */
  readonly onRebuild?: (rebuild: { readonly generation: number; readonly userData: string }) => void;
}

interface Rebuild {
  readonly id: number;
  readonly startedMs: number;
  readonly endsMs: number;
  readonly userData: string;
}

export const worldTimes: ServerTimes = {
  rebuildGraceMs: 60_000,
  adoptionMsMax: 3_600_000,
  joinMsMax: 1_800_000,
  commandMsMax: 604_800_000,
  drainMsMax: 600_000,
};
const REBUILD_MS = 20_000;
/** Maximum duration of a provider call. */
const SLOW_MS_MAX = 9_000;

class Died extends Error {}

export function serverWorld(options: WorldOptions) {
  const { troubles, rebuildTroubles, failsRebuild, startMs, onCall, onAsk, onRebuild } = options;
  const left = [...troubles];
  const leftOfRebuilds = [...rebuildTroubles];
  let nowMs = Date.parse('2026-11-21T12:00:00Z') + startMs;
  const second = () => new Date(Math.floor(nowMs / 1_000) * 1_000);
  let labels: Record<string, string> = options.labels ?? { env: 'prod' };
  const rebuilds: Rebuild[] = [];
  const arrivals: { atMs: number; act: () => void }[] = [];
  const shoots = fakeShoots();
  const isRunning = () => rebuilds.some(({ endsMs }) => nowMs < endsMs);
  const advance = (ms: number): void => {
    nowMs += ms;
    for (const arrival of arrivals.splice(0)) {
      if (arrival.atMs > nowMs) arrivals.push(arrival);
      else arrival.act();
    }
  };
  let row: WantedServer = aWanted({
    acknowledgedAt: new Date(nowMs),
    begunAt: new Date(nowMs),
    observedAt: null,
    claimToken: 'token',
    labelledAt: null,
    ...options.row,
  });
  let last: Verdict | null = null;
  let dueMs: number | null = nowMs;

  /** A database call: it happens entirely or not at all, and the process may die before it learns the result. */
  const stored = async <T>(work: () => T): Promise<T> => {
    onCall?.();
    const trouble = left.shift() ?? { kind: 'none' };
    if (trouble.kind === 'dies' && trouble.when === 'before') throw new Died();
    const result = work();
    if (trouble.kind === 'dies') throw new Died();
    if (trouble.kind === 'slow') advance(trouble.seconds * 1_000);
    return result;
  };
  const later = (afterS: number, act: () => unknown) =>
    arrivals.push({ atMs: nowMs + afterS * 1_000, act: () => void act() });
  const asked = async <T>(act: () => ProjectOutcome<T>, troublesOf = left): Promise<ProjectOutcome<T>> => {
    onCall?.();
    const trouble = troublesOf.shift() ?? { kind: 'none' };
    switch (trouble.kind) {
      case 'none':
        return act();
      case 'slow': {
        const outcome = act();
        advance(Math.min(SLOW_MS_MAX, trouble.seconds * 1_000));
        return outcome;
      }
      case 'dies':
        if (trouble.when === 'after') act();
        throw new Died();
      case 'lost':
        if (trouble.acts === 'immediately') act();
        if (trouble.acts === 'later') later(trouble.afterS, act);
        advance(1_000);
        return { kind: 'uncertain', reason: 'lost' };
      case 'refused':
        return { kind: 'refused', status: 423, code: trouble.code };
      case 'throttled':
        return { kind: 'throttled', retryAfterMs: 5_000 };
    }
  };
  /** A call to a cluster. Lost calls never take effect later, because only the node's own pass writes there. */
  const askedNode = async <T>(act: () => Promise<T>): Promise<T> => {
    onCall?.();
    const trouble = left.shift() ?? { kind: 'none' };
    switch (trouble.kind) {
      case 'none':
        return act();
      case 'slow':
        advance(trouble.seconds * 1_000);
        return act();
      case 'dies':
        if (trouble.when === 'after') await act().catch(() => undefined);
        throw new Died();
      case 'lost':
        if (trouble.acts !== 'never') await act().catch(() => undefined);
        advance(1_000);
        throw new GardenError('uncertain', 'lost');
      case 'refused':
        throw new GardenError('conflict', 'refused');
      case 'throttled':
        throw new GardenError('throttled', 'throttled', { retryAfterSeconds: 5 });
    }
  };
  const { nodes: inner } = shoots;
  const nodes: ShootNodes = {
    joinData: (...of) => askedNode(() => inner.joinData(...of)),
    endJoin: (...of) => askedNode(() => inner.endJoin(...of)),
    readNode: (...of) => askedNode(() => inner.readNode(...of)),
    patchNode: (...of) => askedNode(() => inner.patchNode(...of)),
    evictPods: (...of) => askedNode(() => inner.evictPods(...of)),
    deleteNode: (...of) => askedNode(() => inner.deleteNode(...of)),
  };
  const ok = <T>(value: T): ProjectOutcome<T> => ({ kind: 'ok', value, at: second() });
  const reading = (): ServerReading => ({
    id: 4711,
    name: 'web',
    serverType: 'cx22',
    location: 'hel1',
    architecture: 'amd64',
    labels: { ...labels },
    isRebuildProtected: false,
    isInRescue: false,
    hasIso: false,
    diskGb: 40,
    publicAddresses: ['192.0.2.7'],
    status: isRunning() ? 'rebuilding' : 'running',
    isLocked: isRunning(),
    imageId: rebuilds.length === 0 || isRunning() ? 1 : 7,
  });
  const actionOf = ({ id, startedMs, endsMs }: Rebuild): ServerAction => ({
    id,
    command: 'rebuild_server',
    progress: 50,
    startedAt: new Date(Math.floor(startedMs / 1_000) * 1_000),
    status: nowMs < endsMs ? 'running' : failsRebuild ? 'error' : 'success',
    errorCode: failsRebuild ? 'action_failed' : null,
  });
  const project: ProjectClient = {
    readServer: () => asked(() => ok(reading())),
    listServersWithout: () => asked(() => ok([reading()])),
    hasServerWith: () => asked(() => ok(true)),
    listServerActions: () => asked(() => ok(rebuilds.map(actionOf).reverse())),
    readAction: (id) => asked(() => ok(actionOf(rebuilds.find((each) => each.id === id) as Rebuild))),
    putLabels: (_id, next) =>
      asked(() => {
        labels = { ...next };
        return ok(reading());
      }),
    findSystemImage: (name) => asked(() => ok({ id: 7, name, architecture: 'amd64', diskGb: 5 })),
    rebuild(_id, { userData }) {
      const { generation } = row;
      onAsk?.();
      return asked<ServerAction>(() => {
        if (isRunning()) return { kind: 'refused', status: 423, code: 'locked' };
        const rebuild = { id: rebuilds.length + 1, startedMs: nowMs, endsMs: nowMs + REBUILD_MS, userData };
        rebuilds.push(rebuild);
        onRebuild?.({ generation, userData });
        return ok(actionOf(rebuild));
      }, leftOfRebuilds);
    },
  };
  const change = (next: Partial<WantedServer>) => {
    row = { ...row, ...next };
    return true;
  };
  const isWanted = ({ generation }: WantedServer) => row.generation === generation;
  const isSameClaim = ({ claim }: WantedServer) => row.claim?.poolId === claim?.poolId;
  const begin = (next: Partial<WantedServer>) =>
    change({
      generation: row.generation + 1,
      begunAt: new Date(nowMs),
      message: '',
      failures: 0,
      imageId: null,
      rebuildAskedAt: null,
      rebuildActionId: null,
      ...next,
    });
  const store: ServerStore = {
    read: () =>
      stored(() => ({
        wanted: row,
        token: { connectionId: asConnectionId('connection'), keyId: 'k', bytes: Buffer.alloc(0) },
        now: new Date(nowMs),
      })),
    recordRead: () => stored(() => change({ unreadHold: null })),
    recordAddresses: async () => {},
    recordLabel: (_lease, wanted) => stored(() => isWanted(wanted) && change({ labelledAt: new Date(nowMs) })),
    recordRequest: (_lease, wanted, { askedAt, imageId }) =>
      stored(() => {
        const isAsked = row.rebuildAskedAt !== null || (row.phase === 'Joining' && !isSameClaim(wanted));
        if (!isWanted(wanted) || isAsked) return false;
        const phase = row.phase === 'Adopting' ? 'Rebuilding' : row.phase;
        return change({ rebuildAskedAt: askedAt, imageId, phase });
      }),
    forgetRequest: (_lease, wanted) =>
      stored(() => isWanted(wanted) && row.rebuildActionId === null && change({ rebuildAskedAt: null })),
    recordAction: (_lease, wanted, rebuildActionId) => stored(() => isWanted(wanted) && change({ rebuildActionId })),
    beginJoin: (_lease, wanted, { nodeName }) =>
      stored(() => {
        const { phase, claim } = row;
        const isIdle = phase === 'Ready' || (phase === 'Adopting' && row.kind !== 'cloud');
        const isReady = isIdle && row.nodeName === null && isSameClaim(wanted);
        if (!isWanted(wanted) || !isReady || claim === null) return false;
        return begin({ phase: 'Joining', purpose: 'join', currentCluster: claim.cluster, nodeName });
      }),
    beginLeave: (_lease, wanted) =>
      stored(() => isWanted(wanted) && isSameClaim(wanted) && begin({ phase: 'Leaving', purpose: 'leave' })),
    requestVerification: async () => undefined,
    recordPass: (_lease, wanted, verdict, { name, waiting }) =>
      stored(() => {
        const again = dueMs !== null && dueMs <= nowMs;
        if (isWanted(wanted)) {
          last = verdict;
          const { to } = verdict.operation;
          const isAdopting = row.isAdopting && to !== 'succeeded' && to !== 'failed';
          change({ phase: verdict.phase, message: verdict.message, isAdopting, waiting });
          if (verdict.hasLeftCluster) change({ currentCluster: null, nodeName: null });
        }
        change({ failures: verdict.failures, ...(name === null ? {} : { observedAt: new Date(nowMs) }) });
        if (!again) dueMs = verdict.nextPassMs === null ? null : nowMs + verdict.nextPassMs;
        return { kind: 'released', again };
      }),
    forget: async () => false,
  };
  const lease: PassLease<ServerId> = { teamId: asTeamId('team'), id: asServerId('row'), fence: 1 };
  const pass = serverPass({
    store,
    holds: only<HoldStore>({ find: async () => null, note: async () => undefined }),
    image: 'ubuntu-24.04',
    times: options.times ?? worldTimes,
    leaseMs: 60_000,
    log: silentLog,
    random: () => 0,
    nodes,
    tick: () => nowMs,
    renderJoinUserData: (join) => `join ${join.server}`,
    gate: gardenGate({ places: 1, now: () => nowMs, random: () => 0 }),
    leases: only<LeaseStore<ServerId>>({
      takeLease: async () => ({ kind: 'taken', lease }),
      renewLease: async () => true,
      release: async () => ({ kind: 'released', again: false }),
    }),
    projects: { within: (_token, work) => work(project) },
    openToken: () => 'token',
  });
  return {
    advance,
    rebuilds,
    shoots,
    change,
    labels: () => labels,
    row: () => row,
    last: () => last,
    nowMs: () => nowMs,
    dueMs: () => dueMs,
    /** Makes the server due, as the API does after a change. */
    makeDue: () => {
      dueMs = nowMs;
    },
    endTroubles: () => {
      left.length = 0;
      leftOfRebuilds.length = 0;
    },
    /** @returns false when the process died on the way */
    async pass(): Promise<boolean> {
      dueMs = nowMs + 60_000;
      try {
        await pass(lease.id, new AbortController().signal);
        return true;
      } catch (error) {
        if (!(error instanceof Died)) throw error;
        // The lease ends.
        dueMs = nowMs;
        return false;
      }
    },
  };
}
