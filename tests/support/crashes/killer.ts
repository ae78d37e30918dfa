import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Program } from '../system/program.js';
import { drawer } from './crash-plan.js';

export interface Lifetime {
  /** Counted from the moment it was ready, which takes long on a loaded machine, or else from its start. */
  readonly isReadyFirst: boolean;
  readonly ms: number;
}

/** Kills while it starts, or after some steady work. */
export const lifetimesOf = ({ steadyMsMax }: { steadyMsMax: number }): fc.Arbitrary<Lifetime> =>
  fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({ isReadyFirst: fc.constant(false), ms: fc.integer({ min: 50, max: 1_000 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ isReadyFirst: fc.constant(true), ms: fc.integer({ min: 0, max: steadyMsMax }) }),
    },
  );

/** A program that can be killed and started again. */
export type Killable = Pick<Program, 'name' | 'start' | 'untilReady' | 'kill' | 'output' | 'exited'>;

export interface Killer {
  readonly seed: number;
  /** How long a process lives. The default is up to a few seconds of steady work. */
  readonly lifetimes?: fc.Arbitrary<Lifetime>;
  /** Asked before each kill. */
  isOver(): boolean;
  /** The number of client requests that have been answered so far. */
  answers(): number;
  onKill(): void;
  /** Reports what must never happen: a process ends by itself, or does not get ready. */
  onProblem(problem: string): void;
}

/** Ends a process with SIGKILL and starts it again at the same address, again and again at drawn moments. */
export async function killAgainAndAgain(program: Killable, killer: Killer): Promise<void> {
  const { seed, isOver, onKill, onProblem, lifetimes = lifetimesOf({ steadyMsMax: 7_000 }) } = killer;
  const next = drawer(lifetimes, seed);
  while (!isOver()) {
    const problem = await Promise.race([endOf(program), liveFor(program, next())]);
    if (problem !== null && !/another process uses it/i.test(program.output())) onProblem(problem);
    await program.kill();
    onKill();
    await program.start();
  }
}

const endOf = async (program: Killable): Promise<string> =>
  `${program.name} ended by itself: ${JSON.stringify(await program.exited)}\n${program.output()}`;

/** @returns the problem if it never got ready */
async function liveFor(program: Killable, { isReadyFirst, ms }: Lifetime): Promise<string | null> {
  try {
    if (isReadyFirst) await program.untilReady();
  } catch (error) {
    return String(error);
  }
  await pause(ms);
  return null;
}

/** One turn of a killer that leaves the other processes alone. */
interface Turn {
  /** Picks one of the running programs that were killed least often. */
  readonly pick: number;
  readonly pauseMs: number;
  /** How long after its restart the program is killed once more, or null to leave it alone. */
  readonly againMs: number | null;
}

const turnArbitrary: fc.Arbitrary<Turn> = fc.record({
  pick: fc.nat(),
  pauseMs: fc.integer({ min: 0, max: 1_500 }),
  againMs: fc.option(fc.integer({ min: 50, max: 1_500 }), { freq: 1 }),
});

/** The smallest number of answers between two turns of a killer: a run whose clients never get through shows nothing. */
const ANSWERS_PER_TURN = 10;

/**
 * Kills processes in turn, two at a time: before the next kill, the last process is ready again and clients got answers.
 * So most processes work at any moment, however slow the machine is, and a killed process has worked for any length of
 * time. All are killed about equally often, so that work that waits for the restart of each of them gets done.
 */
export async function killInTurns(programs: readonly Killable[], killer: Killer): Promise<void> {
  const { seed, isOver, onKill, onProblem, answers } = killer;
  const free = [...programs];
  const killsOf = new Map(programs.map((program) => [program, 0]));
  const killAndStart = async (program: Killable): Promise<void> => {
    const ended = await Promise.race([program.exited, pause(0).then(() => null)]);
    if (ended !== null) onProblem(`${program.name} ended by itself: ${JSON.stringify(ended)}\n${program.output()}`);
    await program.kill();
    killsOf.set(program, (killsOf.get(program) ?? 0) + 1);
    onKill();
    await program.start();
  };
  const takeOne = (pick: number): Killable => {
    const fewest = Math.min(...free.map((program) => killsOf.get(program) ?? 0));
    const least = free.filter((program) => killsOf.get(program) === fewest);
    const program = least[pick % least.length] as Killable;
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
      await program.untilReady().catch((error: unknown) => onProblem(String(error)));
      free.push(program);
      await untilAnswered();
    }
  };
  await Promise.all([0, 1].map((number) => lane(drawer(turnArbitrary, seed + number))));
}

/**
 * Kills programs in turn until the work is done, or there were enough kills. Afterwards all of them are ready.
 *
 * @param work gets the number of kills so far
 * @returns the number of kills
 */
export async function killWhile(
  programs: readonly Killable[],
  { seed, kills: wanted, answers }: { readonly seed: number; readonly kills: number; answers(): number },
  work: (kills: () => number) => Promise<unknown>,
): Promise<number> {
  let [kills, isOver] = [0, false];
  const problems: string[] = [];
  const killing = killInTurns(programs, {
    seed,
    isOver: () => isOver || kills >= wanted,
    answers,
    onKill: () => {
      kills += 1;
    },
    onProblem: (problem) => void problems.push(problem),
  });
  try {
    await work(() => kills);
  } finally {
    isOver = true;
    await killing;
    for (const program of programs) await program.untilReady();
  }
  expect(problems).toEqual([]);
  return kills;
}
