import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@corral/testing';
import { openFollowers } from '../clusters/followers.js';
import { measureCpu } from '../load/cpu-shares.js';
import { percentile } from '../load/load.js';
import { say, table } from '../load/report.js';
import { startLoad } from '../load/start-load.js';
import { type NeighboursRig, startNeighboursRig, type Tenant } from './neighbours-rig.js';
import { actPolitely, type PoliteResult, politeKinds, type Served } from './polite-team.js';
import { type RudeName, rudeCallers } from './rude-callers.js';

export interface NeighboursBenchOptions {
  /** The duration of each measurement, with and without a rude caller. */
  readonly seconds: number;
  /** Part of the name of the rude callers; all of them if it is empty. */
  readonly only: string;
}

const [WORST_MS, P95_TIMES] = [500, 3];
const WARM_UP_SECONDS = 5;
/** The time until everything that a rude caller left waiting has been answered. */
const REST_MS = 12_000;
const EVENTS_MS = 5_000;

/** Measures what a polite team gets from both services while others misbehave. */
export async function benchNeighbours({ seconds, only }: NeighboursBenchOptions): Promise<void> {
  const rig = await startNeighboursRig();
  try {
    const polite = await rig.startTenant('polite', 1);
    const names = (Object.keys(rudeCallers) as RudeName[]).filter((name) => name.includes(only));
    const rude: [RudeName, Tenant][] = [];
    for (const name of names) rude.push([name, await rig.startTenant(`rude-${rude.length + 1}`, rude.length + 2)]);
    await actPolitely(polite, WARM_UP_SECONDS);
    const phases = [...rude.map((each) => [each]), ...(rude.length > 1 ? [rude] : [])];
    const alone: PoliteResult[] = [];
    const beside: [string, PoliteResult][] = [];
    for (const callers of phases) {
      const [[first] = ['']] = callers;
      const title = callers.length === 1 ? first : 'all of them';
      const tellCpu = measureCpu(rig.processes);
      alone.push(await actPolitely(polite, seconds));
      say(`\nNobody. The cores: ${tellCpu()}.`);
      beside.push([title, await measureBeside(rig, polite, { title, callers, seconds })]);
      await pause(REST_MS);
    }
    report(alone, beside);
  } finally {
    await rig.base.stop();
  }
}

async function measureBeside(
  { base, processes }: NeighboursRig,
  polite: Tenant,
  { title, callers, seconds }: { title: string; callers: readonly [RudeName, Tenant][]; seconds: number },
): Promise<PoliteResult> {
  const teamUrl = `${polite.api}/api/v1/teams/${polite.slug}`;
  const rude = await Promise.all(
    callers.map(([name, team]) => startLoad({ kind: 'rude', name, team, seconds: seconds + 2 })),
  );
  await pause(1_000);
  const countEvents = async () => {
    const { rows } = await base.pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM team_event JOIN team ON team.id = team_id
       WHERE team.slug = $1 AND kind <> 'RecordSet'`,
      [polite.slug],
    );
    return rows[0]?.count ?? 0;
  };
  // This opens after the streams of the rude caller.
  const followers = await openFollowers({ teamUrl, cookie: polite.cookies[0] as string }, 1).catch(
    (error: Error) => error,
  );
  const before = await countEvents();
  const tellCpu = measureCpu({ ...processes, 'the rude': rude.map(({ pid }) => pid) });
  const result = await actPolitely(polite, seconds);
  const cpu = tellCpu();
  const counts = await Promise.all(rude.map(async ({ ended }, at) => `${callers[at]?.[0]}: ${await ended}`));
  say(`\n${title}. The cores: ${cpu}. Answered, by status:\n  ${counts.join('\n  ')}`);
  if (followers instanceof Error) say(`  The polite team got no stream: ${followers.message}`);
  else {
    const surplus = async () => (followers.counts[0] ?? 0) - ((await countEvents()) - before);
    const hasAll = await waitFor('all events', async () => (await surplus()) >= 0, { timeoutMs: EVENTS_MS })
      .then(() => true)
      .catch(() => false);
    say(
      `  The polite team's stream: ${followers.counts[0]} events${hasAll ? ', all there were' : `; ${-(await surplus())} lack`}.`,
    );
    followers.close();
  }
  return result;
}

function report(alone: readonly PoliteResult[], beside: readonly [string, PoliteResult][]): void {
  const head = ['the polite team, beside', '', 'p50 ms', 'p95 ms', 'times', 'worst ms', 'refused'];
  const baseline = Object.fromEntries(
    politeKinds.map((kind) => [kind, summary(alone.flatMap((each) => each[kind]))]),
  ) as Record<(typeof politeKinds)[number], Summary>;
  const rows: string[][] = [];
  const missed: string[] = [];
  for (const kind of politeKinds) rows.push(['none', kind, ...cells(baseline[kind])]);
  for (const [title, result] of beside) {
    for (const kind of politeKinds) {
      const measured = summary([result[kind]]);
      const ratio = measured.p95Ms / baseline[kind].p95Ms;
      rows.push([title, kind, ...cells(measured, ratio)]);
      const misses = measured.refused > 0 || measured.worstMs > WORST_MS || ratio > P95_TIMES;
      if (misses) missed.push(`${title}: ${kind}`);
    }
  }
  say(`\n${table(head, rows)}`);
  say(`Aim: nothing refused, p95 at most ${P95_TIMES} times that without neighbours, the worst ${WORST_MS} ms.`);
  say(missed.length === 0 ? 'Reached by all.' : `Missed by\n  ${missed.join('\n  ')}`);
}

interface Summary {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly worstMs: number;
  readonly refused: number;
}

function summary(served: readonly Served[]): Summary {
  const sorted = served.flatMap(({ durationsMs }) => durationsMs).sort((one, other) => one - other);
  return {
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
    worstMs: sorted.at(-1) ?? 0,
    refused: served.reduce((sum, { refusals }) => sum + refusals.length, 0),
  };
}

const cells = ({ p50Ms, p95Ms, worstMs, refused }: Summary, ratio?: number): string[] => [
  p50Ms.toFixed(1),
  p95Ms.toFixed(1),
  ratio === undefined ? '' : ratio.toFixed(1),
  worstMs.toFixed(0),
  String(refused),
];
