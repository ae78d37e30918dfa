import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import type { FaultRule, LocalCloud } from '../system/local-cloud.js';
import type { Program } from '../system/program.js';
import type { Disturbance } from './disturbed-stores.js';
import { drawer } from './draw.js';

export interface Crashes {
  readonly seed: number;
  /** They are killed with SIGKILL, and started again at the same address. */
  readonly programs: readonly Program[];
  /** The number of client requests that have been answered so far. */
  answers(): number;
  /** Whether the kills, and what clients did meanwhile, suffice. */
  isEnough(kills: number): boolean;
  /** The longest pause before a kill. The default is 1,500. */
  readonly pauseMsMax?: number;
  /** How many programs may be down at the same time. The default is 2, so that most of them work. */
  readonly downMax?: number;
  /** Faults that are injected one after the other. */
  readonly faults?: {
    readonly cloud: Pick<LocalCloud, 'addFaults' | 'clearFaults'>;
    readonly of: fc.Arbitrary<FaultRule>;
    /** The pause between two of them, in ms. The default is 400. Where calls are rare, most of them would fail. */
    readonly everyMs?: number;
  };
  /** What happens to the stores. */
  readonly disturbances?: readonly Disturbance[];
}

/** What clients know of the run. */
export interface Crashing {
  /** Whether clients should stop. */
  isOver(): boolean;
  kills(): number;
  /** Reports what must never happen, whatever is killed. */
  report(problem: string): void;
}

export interface Crashed {
  readonly kills: number;
  /** What must never happen: a process ends by itself, or does not get ready, and what clients reported. */
  readonly problems: readonly string[];
}

/** Kills programs and injects faults until there was enough of it, or the work has ended. Afterwards all programs are ready. */
export async function whileCrashing(crashes: Crashes, work: (run: Crashing) => Promise<unknown>): Promise<Crashed> {
  const { seed, programs, faults, disturbances = [] } = crashes;
  const problems: string[] = [];
  let [kills, isDone] = [0, false];
  const isOver = (): boolean => isDone || crashes.isEnough(kills);
  const report = (problem: string): void => void problems.push(problem);
  const onKill = (): void => {
    kills += 1;
  };
  /** What cannot go on ends the run, and says why. */
  const onFailure = (error: unknown): void => {
    isDone = true;
    report(String(error));
  };
  const crashing = [
    killInTurns(crashes, { isOver, onKill, report }),
    ...(faults === undefined ? [] : [breakCloud(faults, { seed: seed + 1, isOver })]),
    ...disturbances.map((disturb) => disturb(isOver)),
  ].map((each) => each.catch(onFailure));
  const failure = await work({ isOver, kills: () => kills, report }).then(
    () => null,
    (cause: unknown) => ({ cause }),
  );
  isDone = true;
  await Promise.all(crashing);
  await Promise.all(programs.map((program) => program.untilReady().catch(onFailure)));
  if (failure !== null) throw new Error([failure.cause, ...problems].join('\n'), failure);
  return { kills, problems };
}

/** One turn of a killer that leaves the other processes alone. */
interface Turn {
  /** Picks one of the running programs that were killed least often. */
  readonly pick: number;
  readonly pauseMs: number;
  /** How long after its restart the program is killed once more, or null to leave it alone. */
  readonly againMs: number | null;
}

const turnArbitrary = (pauseMsMax: number): fc.Arbitrary<Turn> =>
  fc.record({
    pick: fc.nat(),
    pauseMs: fc.integer({ min: 0, max: pauseMsMax }),
    againMs: fc.option(fc.integer({ min: 50, max: 1_500 }), { freq: 1 }),
  });

/** The smallest number of answers between two turns of a killer: a run whose clients never get through shows nothing. */
const ANSWERS_PER_TURN = 10;

/**
 * Kills processes in turn, two at a time: before the next kill, the last process is ready again and clients got answers.
 * So, unless more may be down, most processes work at any moment, however slow the machine is, and a killed process has worked for any
 * length of time. All are killed about equally often, so that work that waits for the restart of each of them gets done.
 */
async function killInTurns(
  { seed, programs, answers, pauseMsMax = 1_500, downMax = 2 }: Crashes,
  { isOver, onKill, report }: { isOver(): boolean; onKill(): void; report(problem: string): void },
): Promise<void> {
  const free = [...programs];
  const killsOf = new Map(programs.map((program) => [program, 0]));
  const killAndStart = async (program: Program): Promise<void> => {
    const ended = await Promise.race([program.exited, pause(0).then(() => null)]);
    if (ended !== null && !lostItsPort(program))
      report(`${program.name} ended by itself: ${JSON.stringify(ended)}\n${program.output()}`);
    await program.kill();
    killsOf.set(program, (killsOf.get(program) ?? 0) + 1);
    onKill();
    await program.start();
  };
  const takeOne = (pick: number): Program => {
    const fewest = Math.min(...free.map((program) => killsOf.get(program) ?? 0));
    const least = free.filter((program) => killsOf.get(program) === fewest);
    const program = least[pick % least.length] as Program;
    free.splice(free.indexOf(program), 1);
    return program;
  };
  const untilAnswered = async (): Promise<void> => {
    const enough = answers() + ANSWERS_PER_TURN;
    while (!isOver() && answers() < enough) await pause(20);
  };
  const lane = async (next: () => Turn): Promise<void> => {
    while (!isOver()) {
      const { pick, pauseMs, againMs } = next();
      const program = takeOne(pick);
      await pause(pauseMs);
      await killAndStart(program);
      if (againMs !== null) {
        await pause(againMs);
        await killAndStart(program);
      }
      await program.untilReady().catch((error: unknown) => lostItsPort(program) || report(String(error)));
      free.push(program);
      await untilAnswered();
    }
  };
  const lanes = Array.from({ length: downMax }, (_, number) => number);
  await Promise.all(lanes.map((number) => lane(drawer(turnArbitrary(pauseMsMax), seed + 100 + number))));
}

/** Other programs of the machine may take the port of one that is down. */
const lostItsPort = (program: Program): boolean => /another process uses it/i.test(program.output());

const RULES_MAX = 8;

/** Injects drawn faults one after the other until the run is over, and leaves none behind. */
async function breakCloud(
  { cloud, of, everyMs = 400 }: NonNullable<Crashes['faults']>,
  { seed, isOver }: { readonly seed: number; isOver(): boolean },
): Promise<void> {
  const next = drawer(of, seed);
  while (!isOver()) {
    for (let rules = 0; rules < RULES_MAX && !isOver(); rules += 1) {
      await cloud.addFaults(next());
      await pause(everyMs);
    }
    await cloud.clearFaults(); // otherwise rules without a match accumulate
  }
  await cloud.clearFaults();
}
