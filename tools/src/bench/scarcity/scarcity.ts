import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../load/load.js';
import { say, table } from '../load/report.js';
import { askers, type Tally } from './scarcity-load.js';
import { type ScarcityRig, SPEED, startScarcityRig, type UpstreamBudget } from './scarcity-rig.js';

export interface ScarcityBenchOptions {
  /** The time from when the budget starts to fall to the end of the flood. */
  readonly seconds: number;
  /** Whether the budget is shared over a Redis, if `redis-server` is installed, instead of over Postgres. */
  readonly withRedis: boolean;
}

const TEAMS = 200;
/** What is left for all at the start: some seconds of what they ask for. */
const LEFT = 800;
/** Rates, relative to the share of a team in the refill, which is the same for all. */
const [EAGER, MODEST, FLOOD] = [1.5, 0.5, 100];
const SHARE_MS = (TEAMS * 1_000) / SPEED;
/** The same part of `seconds` again: the teams ask for less than what flows in. */
const REST = 1 / 3;

const [JAIN_MIN, USE_MIN] = [0.98, 0.95];

/**
 * All teams want more than there is, and one of them wants a hundred times its share: the budget falls to nothing and stays
 * there. Then the flood ends and the others want less than there is, so the budget recovers.
 *
 * @returns whether the aims were reached
 */
export async function benchScarcity({ seconds, withRedis }: ScarcityBenchOptions): Promise<boolean> {
  const rig = await startScarcityRig(TEAMS, withRedis);
  try {
    return report(await measure(rig, seconds), rig, seconds);
  } finally {
    await rig.stop();
  }
}

interface Measured {
  readonly others: readonly Tally[];
  readonly flood: Tally;
  readonly scarceUntil: number;
  readonly endedAt: number;
  readonly before: UpstreamBudget;
  readonly scarce: UpstreamBudget;
  readonly after: UpstreamBudget;
}

async function measure(rig: ScarcityRig, seconds: number): Promise<Measured> {
  const { askPolitely, flood, close } = askers(rig.gateways);
  const [flooder, ...teams] = rig.teams as [(typeof rig.teams)[0]];
  // Allows for requests that were lent before the gateways knew that little is left.
  await Promise.all(
    rig.gateways.map(() => askPolitely(flooder, { until: performance.now() + 100, everyMs: () => 50 })),
  );
  await rig.leave(LEFT);
  await askPolitely(flooder, { until: performance.now() + 500, everyMs: () => 100 });

  const before = await rig.budget();
  const startedAt = performance.now();
  const scarceUntil = startedAt + seconds * 1_000;
  const endedAt = scarceUntil + seconds * REST * 1_000;
  const everyMs = () => SHARE_MS / (performance.now() < scarceUntil ? EAGER : MODEST);
  const asking = teams.map((team) => askPolitely(team, { until: endedAt, everyMs }));
  const flooding = flood(flooder, { until: scarceUntil, everyMs: () => SHARE_MS / FLOOD });
  await pause(scarceUntil - performance.now());
  const scarce = await rig.budget();
  const tallies = await Promise.all(asking);
  const measured = { others: tallies, flood: await flooding, scarceUntil, endedAt, before, scarce };
  close();
  return { ...measured, after: await rig.budget() };
}

function report(measured: Measured, { hasRedis }: ScarcityRig, seconds: number): boolean {
  const store = hasRedis ? 'Redis' : 'Postgres';
  say(`${TEAMS} teams for ${seconds} s, ${SPEED} times as fast as in service; the budget is shared over ${store}.\n`);
  const { others, flood } = measured;
  const columns = [countsOf(others, measured), countsOf([flood], measured)] as const;
  const rows = columns[0].map(([what, count], index) => [what, count, columns[1][index]?.[1] ?? '']);
  say(table(['while the budget is scarce', `${others.length} teams`, 'the flood'], rows));
  const aims = aimsOf(measured);
  const cells = aims.map(({ what, measured: value, aim, isReached }) => [what, value, aim, isReached ? 'yes' : 'NO']);
  say(table(['', 'measured', 'aim', ''], cells));
  const isPassed = aims.every(({ isReached }) => isReached);
  say(isPassed ? 'Passed.' : 'Failed.');
  return isPassed;
}

function countsOf(tallies: readonly Tally[], { scarceUntil }: Measured): [string, string][] {
  const accepted = tallies.map((tally) => acceptedBefore(tally, scarceUntil)).sort((one, other) => one - other);
  const refusals = tallies.flatMap((tally) => tally.refusals).filter(({ at }) => at < scarceUntil);
  const waits = refusals.map((each) => each.seconds).sort((one, other) => one - other);
  const [least, most] = [accepted[0], accepted.at(-1)];
  return [
    ['accepted of each', least === most ? String(least) : `${least} to ${most}`],
    ['refused', String(refusals.length)],
    ['  as its own share is used up', String(refusals.filter(({ isShare }) => isShare).length)],
    ['stated wait, p50 and longest', waits.length === 0 ? '' : `${percentile(waits, 0.5)} and ${waits.at(-1)} s`],
  ];
}

interface Aim {
  readonly what: string;
  readonly measured: string;
  readonly aim: string;
  readonly isReached: boolean;
}

function aimsOf({ others, flood, scarceUntil, endedAt, before, scarce, after }: Measured): Aim[] {
  const used = scarce.calls - before.calls;
  const use = used / (used + scarce.remaining);
  const jain = jainIndex(others.map((tally) => acceptedBefore(tally, scarceUntil)));
  const [kept, broken] = [sum(others.map((each) => each.kept)), sum(others.map((each) => each.broken))];
  // By then, every request whose Retry-After ends during the scarcity has come.
  const backAt = scarceUntil + (endedAt - scarceUntil) / 2;
  const late = others.flatMap((each) => each.refusals).filter(({ at }) => at >= backAt);
  const unexpected = [...new Set([...others, flood].flatMap((each) => each.others))];
  const none = (what: string, count: number): Aim => ({ what, measured: `${count}`, aim: '0', isReached: count === 0 });
  const least = (what: string, value: number, min: number): Aim => {
    return { what, measured: value.toFixed(3), aim: `>= ${min}`, isReached: value >= min };
  };
  return [
    least('Jain’s index of those that ask alike', jain, JAIN_MIN),
    least('used of what was granted', use, USE_MIN),
    none('upstream 429s', after.refused - before.refused),
    {
      what: 'came at the stated time, and had their turn',
      measured: `${kept} of ${kept + broken}`,
      aim: 'all',
      isReached: broken === 0 && kept > 0,
    },
    none('refused once the budget is back', late.length),
    none(`other answers than 201 and 429 ${unexpected.join(', ')}`.trim(), unexpected.length),
  ];
}

const acceptedBefore = ({ acceptedAt }: Tally, until: number): number => acceptedAt.filter((at) => at < until).length;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** 1 if all have the same, 1/n if one has everything. */
function jainIndex(values: readonly number[]): number {
  const squares = sum(values.map((value) => value * value));
  return squares === 0 ? 1 : sum(values) ** 2 / (values.length * squares);
}
