import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Operation } from '@corral/contracts';
import { stringify } from 'yaml';
import { findShootDifferences } from '../cluster-crashes/judge-garden.js';
import type { TeamClient } from '../clusters/client.js';
import { type ClusterSystem, startClusterSystem } from '../clusters/start-cluster-system.js';
import { type Killable, killInTurns } from '../crashes/killer.js';
import { type Corral, corralCommand } from './corral.js';

export interface PipelineOptions {
  readonly seed: number;
  readonly clusters: number;
  /** The kills of both services together. The pipeline changes clusters until there were so many. */
  readonly kills: number;
}

/** What the command said about a cluster in one run. */
interface Report {
  readonly name: string;
  readonly result: string;
  readonly operation: { readonly id: string; readonly state: string | null } | null;
}

export interface PipelineRun {
  readonly kills: number;
  readonly runs: number;
  /** Runs that ended with another code than 0, and were repeated. */
  readonly repeated: number;
  readonly operations: number;
  /** What is not as it was reported, or must never happen. */
  readonly contradictions: readonly string[];
}

/** What a pipeline may see while services come and go. Anything else is a mistake. */
const expectedCodes = new Set([0, 1, 5, 6, 7]);
const TRIES_MAX = 20;

/**
 * A pipeline with the token of a service account declares clusters, changes them again and again and deletes a third, while the
 * cluster API and the reconciler are killed at drawn moments. Then what it reported is compared with what there is.
 */
export async function runPipeline({ seed, clusters, kills }: PipelineOptions): Promise<PipelineRun> {
  const system = await startClusterSystem({
    apiEnv: { CLUSTERS_PER_TEAM: String(clusters) },
    speed: { createMs: 300, reconcileMs: 100, deleteMs: 100 },
  });
  const corral = await pipelineCommand(system);
  try {
    const contradictions: string[] = [];
    let [killed, isOver] = [0, false];
    const victims: Killable[] = [system.apis[0], system.reconcilers[0]].flatMap((program) => program ?? []);
    const killing = killInTurns(victims, {
      seed,
      isOver: () => isOver || killed >= kills,
      // What the command says is what it was answered.
      answers: corral.lines,
      onKill: () => {
        killed += 1;
      },
      onProblem: (problem) => void contradictions.push(problem),
    });
    const pipeline = await runStages(system, corral, { clusters, isEnough: () => killed >= kills }).finally(() => {
      isOver = true;
    });
    await killing;
    for (const program of victims) await program.untilReady();
    contradictions.push(...pipeline.problems, ...(await findContradictions(system, corral, pipeline)));
    const { runs, repeated, reports } = pipeline;
    return { kills: killed, runs, repeated, operations: reports.length, contradictions };
  } finally {
    await corral.remove();
    await system.stop();
  }
}

/** The command with the token of a service account, whose role is member. */
async function pipelineCommand({ teams, apis }: ClusterSystem): Promise<Corral> {
  const { admin, slug } = teams[0] as ClusterSystem['teams'][number];
  await admin.insist({ method: 'PUT', path: '/service-accounts/ci/', body: { spec: { role: 'member' } } });
  const tokens = await admin.insist({
    method: 'POST',
    path: '/service-accounts/ci/tokens/',
    body: { expiresInDays: 1 },
  });
  return corralCommand({ CORRAL_URL: apis[0]?.base, CORRAL_TOKEN: tokens.json.token, CORRAL_TEAM: slug });
}

interface Stages {
  /** The clusters that are declared at the end, with the most nodes of their pool. */
  readonly declared: ReadonlyMap<string, number>;
  readonly deleted: readonly string[];
  readonly reports: readonly Report[];
  /** Clusters about which a run could not say how it went. */
  readonly uncertain: ReadonlySet<string>;
  readonly runs: number;
  readonly repeated: number;
  readonly problems: readonly string[];
}

async function runStages(
  system: ClusterSystem,
  corral: Corral,
  { clusters, isEnough }: { readonly clusters: number; readonly isEnough: () => boolean },
): Promise<Stages> {
  const names = Array.from({ length: clusters }, (_none, at) => `c${at + 1}`);
  const declared = new Map(names.map((name) => [name, 1]));
  const [reports, problems]: [Report[], string[]] = [[], []];
  const uncertain = new Set<string>();
  let [runs, repeated] = [0, 0];
  const folder = join(corral.folder, 'clusters');

  /** Runs a command until it succeeds, as a pipeline does. */
  const insist = async (args: readonly string[], concerned: readonly string[]): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const { code, out, err } = await corral.run(...args, '-o', 'json');
      runs += 1;
      const said: Report[] = out === '' ? [] : [JSON.parse(out) as Report[]].flat();
      reports.push(...said.filter(({ operation }) => operation !== null));
      if (code === 0) return;
      repeated += 1;
      for (const name of said.length === 0
        ? concerned
        : said.filter(({ result }) => result === 'failed').map((each) => each.name)) {
        uncertain.add(name);
      }
      if (!expectedCodes.has(code ?? -1)) problems.push(`corral ${args.join(' ')} ended with ${code}: ${err}`);
      if (tries === TRIES_MAX) throw new Error(`corral ${args.join(' ')} never succeeded: ${err}`);
    }
  };
  const apply = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    for (const [name, maximum] of declared) {
      const pool = { name: 'general', machineType: 'cx22', minimum: 1, maximum };
      await writeFile(join(folder, `${name}.yaml`), documentOf(system, name, [pool]));
    }
    await insist(['clusters', 'apply', '-f', folder, '--wait', '--timeout', '10m'], [...declared.keys()]);
  };

  await apply();
  for (let round = 0; round < 1 || !isEnough(); round += 1) {
    for (const name of names.filter((_name, at) => at % 2 === round % 2))
      declared.set(name, (declared.get(name) ?? 0) + 1);
    await apply();
  }
  const deleted = names.filter((_name, at) => at % 3 === 0);
  for (const name of deleted) {
    declared.delete(name);
    await insist(['clusters', 'delete', name, '--yes', '--wait', '--ignore-not-found'], [name]);
  }
  await apply();
  return { declared, deleted, reports, uncertain, runs, repeated, problems };
}

/** The file of a cluster, as it is in git. */
const documentOf = ({ surroundings }: ClusterSystem, name: string, nodePools: readonly object[]): string =>
  stringify({
    apiVersion: 'clusters.corral.dev/v1',
    kind: 'Cluster',
    metadata: { name },
    spec: { ...surroundings, kubernetesVersion: '1.34', nodePools },
  });

async function findContradictions(system: ClusterSystem, corral: Corral, pipeline: Stages): Promise<string[]> {
  const { declared, deleted, reports, uncertain } = pipeline;
  const { admin } = system.teams[0] as ClusterSystem['teams'][number];
  const found: string[] = [];
  const { code } = await corral.run('clusters', 'diff', '-f', join(corral.folder, 'clusters'));
  if (code !== 0) found.push(`\`clusters diff\` ended with ${code}`);

  const clusters = (await Promise.all([...declared.keys()].map((name) => admin.findCluster(name)))).flatMap(
    (each) => each ?? [],
  );
  for (const { metadata, spec, status } of clusters) {
    const maximum = spec.nodePools[0]?.maximum;
    if (maximum !== declared.get(metadata.name)) found.push(`${metadata.name} has at most ${maximum} nodes`);
    if (status.phase !== 'Ready') found.push(`${metadata.name} was reported as done and is ${status.phase}`);
  }
  if (clusters.length !== declared.size)
    found.push(`${clusters.length} clusters are there, and ${declared.size} declared`);
  for (const name of deleted)
    if ((await admin.findCluster(name)) !== null) found.push(`${name} was deleted and is there`);
  found.push(...findShootDifferences(clusters, await system.garden.shoots()));

  const operations = await allOperations(admin);
  const reported = new Set(reports.map(({ operation }) => operation?.id));
  for (const { name, operation } of reports) {
    const real = operation === null ? undefined : operations.get(operation.id);
    if (real === undefined) found.push(`operation ${operation?.id} of ${name} was reported, and there is none`);
    else if (operation?.state != null && operation.state !== real.state) {
      found.push(`operation ${real.id} of ${name} was reported as ${operation.state} and is ${real.state}`);
    }
  }
  for (const { id, kind, target } of operations.values()) {
    if (!reported.has(id) && !uncertain.has(target.name))
      found.push(`${kind} ${id} of ${target.name} was never reported`);
  }
  return found;
}

/** All operations on clusters. */
async function allOperations(admin: TeamClient): Promise<Map<string, Operation>> {
  const operations = new Map<string, Operation>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/operations/?limit=200${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { items, next }: { items: Operation[]; next: string | null } = (await admin.insist({ method: 'GET', path }))
      .json;
    for (const operation of items) if (operation.kind.startsWith('cluster.')) operations.set(operation.id, operation);
    cursor = next;
  }
  return operations;
}
