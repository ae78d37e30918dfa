import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Operation } from '@corral/contracts';
import fc from 'fast-check';
import { findShootDifferences } from '../cluster-crashes/judge-garden.js';
import type { TeamClient } from '../clusters/client.js';
import { readRowChanges, recordRowChanges } from '../clusters/row-history.js';
import { adoptServer, makeServer } from '../clusters/server-journey.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../clusters/start-cluster-system.js';
import { drawer } from '../crashes/crash-plan.js';
import { killInTurns } from '../crashes/killer.js';
import type { Corral, Ran } from './corral.js';
import { allOperations, documentOf, pipelineCommand } from './pipeline.js';

export interface BesidePeopleOptions {
  readonly seed: number;
  readonly clusters: number;
  /** How long people and the pipeline change clusters. */
  readonly ms: number;
}

export interface BesidePeopleRun {
  readonly kills: number;
  /** The number of runs of `clusters apply`. */
  readonly runs: number;
  /** Those that would have taken something away, and did not. */
  readonly withheld: number;
  /** Accepted changes by people. */
  readonly changes: number;
  readonly removedPools: number;
  /** What must never happen. */
  readonly contradictions: readonly string[];
}

interface Pool {
  readonly name: string;
  readonly machineType: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly source?: string;
}

/** What git says, and what plans and people said that they take away. */
interface Story {
  readonly git: Map<string, readonly Pool[]>;
  /** `cluster/pool` of each pool whose removal a plan showed before it was permitted, or that a person removed. */
  readonly named: Set<string>;
  readonly problems: string[];
  runs: number;
  withheld: number;
  changes: number;
  pools: number;
}

/** The ends that a pipeline may meet beside people and kills: all of them say why. */
const explainedCodes = new Set([0, 1, 2, 5, 6, 7]);
const ONE_NODE = { machineType: 'cx22', minimum: 1 } as const;
const POOLS_MAX = 4;
const TRIES_MAX = 10;
const patience = { timeoutMs: 120_000 };

/**
 * A pipeline applies what is in git again and again, without permission to take anything away, while people change the same clusters
 * and all services are killed at drawn moments. What it withholds is permitted by a person after the plan, or taken over into git.
 */
export async function runBesidePeople({ seed, clusters, ms }: BesidePeopleOptions): Promise<BesidePeopleRun> {
  const system = await startClusterSystem({
    reconcilers: 2,
    apiEnv: { CLUSTERS_PER_TEAM: String(clusters) },
    speed: { createMs: 300, reconcileMs: 100, deleteMs: 100 },
  });
  const corral = await pipelineCommand(system);
  try {
    const names = Array.from({ length: clusters }, (_none, at) => `c${at + 1}`);
    const story: Story = {
      git: new Map(names.map((name) => [name, [{ name: 'general', ...ONE_NODE, maximum: 1 }]])),
      named: new Set(),
      problems: [],
      runs: 0,
      withheld: 0,
      changes: 0,
      pools: 0,
    };
    await recordRowChanges(system.pool, ['node_pool']);
    const team = system.teams[0] as ClusterTeam;
    await adoptServer(team.admin, await makeServer(system, team));
    await applyUntilDone(system, corral, story);

    const endsAt = performance.now() + ms;
    const isOver = () => performance.now() > endsAt;
    let kills = 0;
    const victims = [...system.apis, ...system.reconcilers];
    const killing = killInTurns(victims, {
      seed,
      isOver,
      answers: () => corral.lines() + team.admin.answers() + team.member.answers(),
      onKill: () => {
        kills += 1;
      },
      onProblem: (problem) => void story.problems.push(problem),
    });
    await Promise.all([
      killing,
      pipeline(system, corral, story, { seed, isOver }),
      person(team.admin, story, { seed: seed + 1, isOver, names, ownPoolOf: 'c1' }),
      person(team.member, story, { seed: seed + 2, isOver, names }),
    ]);
    for (const program of victims) await program.untilReady();
    await applyUntilDone(system, corral, story);
    const removed = await removedPools(system);
    const contradictions = [...story.problems, ...(await judge(system, corral, story, removed))];
    const { runs, withheld, changes } = story;
    return { kills, runs, withheld, changes, removedPools: removed.length, contradictions };
  } finally {
    await corral.remove();
    await system.stop();
  }
}

interface Actor {
  readonly seed: number;
  isOver(): boolean;
}

interface Commit {
  readonly picks: readonly number[];
  readonly what: 'grow' | 'add' | 'remove';
  readonly answer: 'permit' | 'adopt' | 'leave';
}
const commits: fc.Arbitrary<Commit> = fc.record({
  picks: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
  what: fc.constantFrom('grow', 'grow', 'add', 'remove'),
  answer: fc.constantFrom('permit', 'adopt', 'adopt', 'leave'),
});

async function pipeline(system: ClusterSystem, corral: Corral, story: Story, { seed, isOver }: Actor): Promise<void> {
  const next = drawer(commits, seed);
  while (!isOver()) {
    const { picks, what, answer } = next();
    for (const pick of picks) commit(story, [...story.git.keys()][pick % story.git.size] as string, what);
    const { code } = await apply(system, corral, story, []);
    if (code !== 2) continue;
    story.withheld += 1;
    if (answer === 'permit') await apply(system, corral, story, ['--allow-removals']);
    if (answer === 'adopt') await takeOver((system.teams[0] as ClusterTeam).member, story);
  }
}

function commit(story: Story, name: string, what: Commit['what']): void {
  const [general, ...others] = story.git.get(name) as readonly [Pool, ...Pool[]];
  if (what === 'grow') story.git.set(name, [{ ...general, maximum: (general.maximum % 5) + 1 }, ...others]);
  if (what === 'add' && others.length + 1 < POOLS_MAX) {
    story.pools += 1;
    story.git.set(name, [general, ...others, { name: `git-${story.pools}`, ...ONE_NODE, maximum: 2 }]);
  }
  if (what === 'remove') story.git.set(name, [general, ...others.slice(1)]);
}

/** Somebody copies what is declared into git, but for pools on servers, which two pools would claim in turn. */
async function takeOver(client: TeamClient, story: Story): Promise<void> {
  for (const name of story.git.keys()) {
    const cluster = await client.findCluster(name);
    if (cluster !== null) story.git.set(name, withoutServers(cluster).spec.nodePools.map(poolOf));
  }
}

const poolOf = ({ name, machineType, minimum, maximum, source }: Cluster['spec']['nodePools'][number]): Pool => ({
  name,
  machineType,
  minimum,
  maximum,
  source,
});

async function apply(system: ClusterSystem, corral: Corral, story: Story, options: readonly string[]): Promise<Ran> {
  const folder = join(corral.folder, 'clusters');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const [name, pools] of story.git) await writeFile(join(folder, `${name}.yaml`), documentOf(system, name, pools));
  const args = ['clusters', 'apply', '-f', folder, '--wait', '--timeout', '2m', '-o', 'json', ...options];
  const ran = await corral.run(...args);
  story.runs += 1;
  const isPermitted = options.includes('--allow-removals');
  for (const pool of removalsShown(ran.err)) if (isPermitted) story.named.add(pool);
  const { code, err } = ran;
  const isExplained = explainedCodes.has(code ?? -1) && (code === 0 || /corral: \S+/.test(err));
  const isAsking = err.includes('add --allow-removals');
  if (!isExplained || (code === 2) !== isAsking) story.problems.push(`apply ${options} ended with ${code}: ${err}`);
  return ran;
}

/** The removals in the printed plans. */
function removalsShown(err: string): string[] {
  let cluster = '';
  return err.split('\n').flatMap((line) => {
    cluster = /^[+~ ] cluster (\S+)/.exec(line)?.[1] ?? cluster;
    const pool = /^ {4}node pool (\S+) removed\b/.exec(line)?.[1];
    return pool === undefined ? [] : [`${cluster}/${pool}`];
  });
}

async function applyUntilDone(system: ClusterSystem, corral: Corral, story: Story): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { code, err } = await apply(system, corral, story, ['--allow-removals']);
    if (code === 0) return;
    if (tries === TRIES_MAX)
      throw new Error(`The pipeline never succeeded alone: ${err}\n${story.problems.join('\n')}`);
  }
}

interface Deed {
  readonly pick: number;
  readonly what: 'add' | 'grow' | 'remove' | 'own';
  readonly pauseMs: number;
}
const deeds: fc.Arbitrary<Deed> = fc.record({
  pick: fc.nat(),
  what: fc.constantFrom('add', 'grow', 'grow', 'remove', 'own'),
  pauseMs: fc.integer({ min: 0, max: 1_000 }),
});

/** Reads a cluster and sends it changed, under the condition that nobody else changed it meanwhile, as the console does. */
async function person(
  client: TeamClient,
  story: Story,
  { seed, isOver, names, ownPoolOf }: Actor & { readonly names: readonly string[]; readonly ownPoolOf?: string },
): Promise<void> {
  const next = drawer(deeds, seed);
  while (!isOver()) {
    const { pick, what, pauseMs } = next();
    const name = what === 'own' && ownPoolOf !== undefined ? ownPoolOf : (names[pick % names.length] as string);
    const cluster = await client.findCluster(name);
    if (cluster === null) continue;
    const nodePools = changedPools(story, cluster, what === 'own' && ownPoolOf === undefined ? 'grow' : what);
    const kept = new Set(nodePools.map((pool) => pool.name));
    const { status, text, tries } = await client.insist(
      {
        method: 'PUT',
        path: `/clusters/${name}/`,
        body: { spec: { ...cluster.spec, nodePools } },
        headers: { 'if-match': cluster.metadata.etag },
      },
      patience,
    );
    // An earlier try may have been accepted, and its answer lost.
    if (status === 202 || tries > 1) {
      for (const pool of cluster.spec.nodePools) if (!kept.has(pool.name)) story.named.add(`${name}/${pool.name}`);
    }
    if (status === 202) story.changes += 1;
    else if (![200, 409, 412].includes(status)) story.problems.push(`a change of ${name} got ${status}: ${text}`);
    await pause(pauseMs);
  }
}

function changedPools(story: Story, { spec }: Cluster, what: Deed['what']): Pool[] {
  const pools = spec.nodePools.map(poolOf);
  const [general, ...others] = pools as [Pool, ...Pool[]];
  if (what === 'remove') return [general, ...others.slice(0, -1)];
  const isOwn = what === 'own';
  if ((what === 'add' || isOwn) && pools.length < POOLS_MAX && !(isOwn && others.some(isOnServers))) {
    story.pools += 1;
    const added = { name: `hand-${story.pools}`, ...ONE_NODE, maximum: 1 };
    return [...pools, isOwn ? { ...added, minimum: 0, source: 'pooled' } : added];
  }
  return [{ ...general, maximum: (general.maximum % 5) + 1 }, ...others];
}

const isOnServers = ({ source }: Pool): boolean => source !== 'managed';

/** `cluster/pool` of each pool that ever went, as Postgres itself recorded it. */
async function removedPools({ pool }: ClusterSystem): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; name: string }>('SELECT id, name FROM cluster');
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  const changes = await readRowChanges(pool);
  const there = new Set<string>();
  const removed: string[] = [];
  for (const { kind, row } of changes) {
    const key = `${names.get(row.cluster_id)}/${row.name}`;
    if (kind !== 'DELETE') there.add(key);
    else if (there.delete(key)) removed.push(key);
  }
  return removed;
}

async function judge(
  system: ClusterSystem,
  corral: Corral,
  { git, named }: Story,
  removed: readonly string[],
): Promise<string[]> {
  const { admin } = system.teams[0] as ClusterTeam;
  const found = removed.filter((pool) => !named.has(pool)).map((pool) => `${pool} went, and no plan named it`);
  const { code } = await corral.run('clusters', 'diff', '-f', join(corral.folder, 'clusters'));
  if (code !== 0) found.push(`\`clusters diff\` ended with ${code}`);
  const clusters = (await Promise.all([...git.keys()].map((name) => admin.findCluster(name)))).flatMap((c) => c ?? []);
  if (clusters.length !== git.size) found.push(`${clusters.length} clusters are there, and ${git.size} declared`);
  for (const { metadata, status } of clusters)
    if (status.phase !== 'Ready') found.push(`${metadata.name} is ${status.phase}`);
  found.push(...findShootDifferences(clusters.map(withoutServers), await system.garden.shoots()));
  const lives = await system.garden.lives();
  if (lives.length !== git.size) found.push(`${git.size} clusters have had ${lives.length} Shoots`);
  for (const operation of (await allOperations(admin)).values()) found.push(...unexplained(operation));
  return found;
}

/** Pools on servers are no workers of the Shoot. */
const withoutServers = (cluster: Cluster): Cluster => ({
  ...cluster,
  spec: { ...cluster.spec, nodePools: cluster.spec.nodePools.filter(({ source }) => source === 'managed') },
});

function unexplained({ id, kind, state, error }: Operation): string[] {
  if (state === 'succeeded' || state === 'superseded') return [];
  if (state === 'failed' && error !== null && error.message !== '') return [];
  return [`${kind} ${id} is ${state}: ${JSON.stringify(error)}`];
}
