import { clusterPhases } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { CliError, usageError } from '../exit-codes.js';
import { startProgress } from '../output/progress.js';
import { renderTable } from '../output/table.js';
import { type Cluster, connectTeam, findCluster, noCluster, type TeamApi } from './team-api.js';

const POLL_MS = 2_000;

/** What is waited for. A cluster that does not exist is null. */
export interface Goal {
  readonly isReached: (cluster: Cluster | null) => boolean;
  /** A deletion ends with a cluster that is absent. Every other goal never comes without one. */
  readonly isAbsence: boolean;
}

/** @throws CliError for an unknown goal */
export function goalOf(text: string): Goal {
  const [kind, value = ''] = text.split('=', 2);
  const when = (is: (cluster: Cluster) => boolean): Goal => ({
    isReached: (cluster) => cluster !== null && is(cluster),
    isAbsence: false,
  });
  const inPhase = (wanted: string) => when((cluster) => cluster.status.phase === wanted && isSettled(cluster));
  switch (kind?.toLowerCase()) {
    case 'ready':
      return inPhase('Ready');
    case 'hibernated':
      return inPhase('Hibernated');
    case 'deleted':
    case 'delete':
      return { isReached: (cluster) => cluster === null, isAbsence: true };
    case 'phase': {
      const phase = clusterPhases.find((each) => each.toLowerCase() === value.toLowerCase());
      if (phase !== undefined) return when(({ status }) => status.phase === phase);
      throw usageError(`There is no phase ${value}. Use one of ${clusterPhases.join(', ')}.`);
    }
    case 'condition':
      if (value !== '') {
        return when((cluster) =>
          cluster.status.conditions.some(
            ({ type, status }) => type === value && status === 'True' && isSettled(cluster),
          ),
        );
      }
      break;
    default:
  }
  throw usageError('Use --for ready, hibernated, deleted, phase=<phase> or condition=<type>.');
}

/** The status is about what is declared now. */
const isSettled = ({ metadata }: Cluster): boolean => metadata.observedGeneration >= metadata.generation;

interface WaitOptions {
  readonly for: string;
  /** Milliseconds. */
  readonly timeout: number;
}

export async function waitForClusters(cli: Cli, names: string[], options: WaitOptions): Promise<void> {
  const goal = goalOf(options.for);
  const api = await connectTeam(cli);
  const progress = startProgress(cli.io, names);
  const endsAt = performance.now() + options.timeout;
  try {
    const waits = names.map((name) => untilReached(cli, api, { name, goal, endsAt, wanted: options.for, progress }));
    const clusters = await Promise.all(waits);
    const rows = names.map((name, at) => ({ name, phase: clusters[at]?.status.phase ?? null }));
    cli.result(rows, () => renderTable(rows, { CLUSTER: ({ name }) => name, PHASE: ({ phase }) => phase ?? 'absent' }));
  } finally {
    progress.end();
  }
}

interface Wait {
  readonly name: string;
  readonly goal: Goal;
  readonly wanted: string;
  readonly endsAt: number;
  readonly progress: ReturnType<typeof startProgress>;
}

async function untilReached(
  { io }: Cli,
  api: TeamApi,
  { name, goal, wanted, endsAt, progress }: Wait,
): Promise<Cluster | null> {
  for (let isKnown = false; ; isKnown = true) {
    const cluster = await findCluster(api, name);
    const isReached = goal.isReached(cluster);
    if (cluster === null && !isReached) {
      if (!isKnown) throw noCluster(api, name);
      throw new CliError('notFound', `Cluster ${name} was deleted, so it will not be ${wanted}.`);
    }
    progress.show(name, await stepOfCluster(api, cluster, { isReached, isKnown }));
    if (isReached || cluster === null) return cluster;
    const failed = cluster.status.lastOperation;
    if (failed?.state === 'failed') {
      const { message = `${failed.kind} failed.`, hint = '' } = failed.error as { message?: string; hint?: string };
      throw new CliError('refused', `${name} is not ${wanted}: ${message} ${hint}`.trimEnd());
    }
    if (performance.now() + POLL_MS >= endsAt) {
      throw new CliError('timeout', `${name} is not ${wanted} yet: timed out. It is ${cluster.status.phase}.`);
    }
    await io.sleep(POLL_MS, api.signal);
    api.signal.throwIfAborted();
  }
}

async function stepOfCluster(
  { client, team, signal }: TeamApi,
  cluster: Cluster | null,
  { isReached, isKnown }: { readonly isReached: boolean; readonly isKnown: boolean },
) {
  const text = cluster?.status.phase ?? (isKnown ? 'deleted' : 'absent');
  if (isReached) return { percent: 100, text };
  const last = cluster?.status.lastOperation;
  if (last?.state !== 'running') return { percent: 0, text };
  const { body } = await client.getOperation({ team, id: last.id }, { signal });
  return { percent: body.progress, text };
}
