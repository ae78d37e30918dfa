import type { ServerId } from '@corral/contracts';
import { GardenError, renderJoinUserData, type ShootNodes } from '@corral/garden';
import type { Projects } from '@corral/hcloud';
import type { JobContext, JobHandlers } from '@corral/queue';
import type { KeyRing } from '@corral/secrets';
import type { Log, Metrics } from '@corral/service';
import { gardenGate } from '../garden/gate.js';
import { holdStore } from '../loop/hold.js';
import { type LeaseStore, leaseStore, serverTable } from '../loop/lease.js';
import { readGauge } from '../loop/metrics.js';
import { tokenOpener } from '../loop/provider-token.js';
import { planNext, type RowJobs, serverJobs, sweepDue } from '../loop/sweep.js';
import { passTraces, tracedJobs, withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import type { ServerTimes } from './model.js';
import { type ServerPassResult, serverPass } from './pass.js';
import { serverStore } from './store.js';

type ServerMetrics = ReturnType<typeof serverMetrics>;

/** Metrics of the loop over adopted servers. The age is read from Postgres, so every replica reports the same value. */
function serverMetrics(metrics: Metrics, { leases }: { leases: LeaseStore<ServerId> }) {
  readGauge(metrics, {
    name: 'corral_server_due_age_seconds',
    help: 'Age of the oldest due adopted server, in seconds',
    read: () => leases.readDueAgeSeconds(),
  });
  return {
    passes: metrics.counter({
      name: 'corral_server_passes_total',
      help: 'Passes over adopted servers, by outcome',
      labelNames: ['outcome'],
    }),
  };
}

interface ReconcileServerDeps {
  readonly pass: (id: ServerId, stop: AbortSignal) => Promise<ServerPassResult>;
  readonly traced: ReturnType<typeof passTraces>;
  readonly jobs: RowJobs<ServerId>;
  readonly metrics: ServerMetrics;
  readonly log: Log;
}

/** Runs a pass and plans the next one. */
function reconcileServerHandler({ pass, traced, jobs, metrics, log }: ReconcileServerDeps) {
  return async ({ serverId }: { serverId: ServerId }, { signal }: JobContext): Promise<void> => {
    let traceId: string | undefined;
    const { end, steps } = await traced('reconcile server', serverId, async (span) => {
      const done = await pass(serverId, signal);
      traceId = span?.traceId;
      span?.set({ 'corral.server.id': serverId, 'corral.pass.end': done.end.kind, 'corral.pass.steps': done.steps });
      return done;
    });
    metrics.passes.inc({ outcome: end.kind.replaceAll(' ', '_') });
    // Nodes are read every minute, which is not worth a log line.
    const isMereRead = steps.every((step) => step === 'readNode');
    if (!isMereRead) log.info('server pass done', { serverId, traceId, end: end.kind, steps });
    await planNext(jobs, serverId, end, log);
  };
}

export interface ServerSettings {
  /** Maximum number of servers that this process works on concurrently. */
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Name of the system image for rebuilds. */
  readonly image: string;
  readonly times: ServerTimes;
}

export interface ServerOptions {
  readonly settings: ServerSettings;
  readonly projects: Projects;
  /** Null in an installation without a garden, which has no clusters to join. */
  readonly nodes: ShootNodes | null;
  /** Decrypts the tokens of connections. */
  readonly keys: KeyRing;
}

/** Wires the loop over adopted servers. */
export function buildServerWorkers(services: Services, options: ServerOptions) {
  const { pool, prisma, queue, log } = services;
  const { settings, projects, keys } = options;
  const leases = leaseStore(pool, serverTable);
  const jobs = serverJobs(queue, log);
  const metrics = serverMetrics(services.metrics, { leases });
  // A separate gate: a Shoot that denies access must not block this process's work on clusters.
  const gate = gardenGate({
    places: settings.concurrency,
    onPause: (pause) => log.warn('garden left alone by servers', pause),
  });
  const pass = serverPass({
    leases,
    store: serverStore(services),
    holds: holdStore(prisma),
    projects,
    log,
    tick: () => performance.now(),
    image: settings.image,
    leaseMs: settings.leaseMs,
    times: settings.times,
    openToken: tokenOpener(keys),
    nodes: options.nodes ?? noNodes,
    renderJoinUserData,
    gate,
  });
  const sweep = tracedJobs({ 'sweep-servers': withSignal((signal) => sweepDue({ leases, jobs }, log, signal)) });
  return {
    countDue: leases.countDue,
    pass,
    concurrency: settings.concurrency,
    handlers: {
      ...sweep,
      'reconcile-server': reconcileServerHandler({ pass, traced: passTraces(prisma), jobs, metrics, log }),
    } satisfies JobHandlers<'servers'>,
  };
}
export type ServerWorkers = ReturnType<typeof buildServerWorkers>;

const noGarden = async (): Promise<never> => {
  throw new GardenError('unreachable', 'there is no garden');
};
const noNodes: ShootNodes = {
  joinData: noGarden,
  endJoin: noGarden,
  readNode: noGarden,
  patchNode: noGarden,
  evictPods: noGarden,
  deleteNode: noGarden,
};
