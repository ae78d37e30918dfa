import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { drawer } from './drawer.js';
import type { Program } from './program.js';

/** Moments of a process' life: from its first instruction to steady work. */
const lifetimeArbitrary = fc.oneof(
  { weight: 1, arbitrary: fc.integer({ min: 50, max: 1_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1_000, max: 9_000 }) },
);

/** What can be killed and started again. */
export type Killable = Pick<Program, 'name' | 'start' | 'untilReady' | 'kill' | 'output' | 'exited'>;

export interface Killer {
  readonly seed: number;
  /** How long a process lives, in milliseconds. Default: from its first instruction to a few seconds of steady work. */
  readonly lifetimes?: fc.Arbitrary<number>;
  /** Asked before each kill. */
  isOver(): boolean;
  onKill(): void;
  /** What must never happen: a process that ends without being told to, or does not get ready. */
  onProblem(problem: string): void;
}

/** Ends a process with SIGKILL and starts it again at the same address, at one drawn moment after the other. */
export async function killAgainAndAgain(program: Killable, killer: Killer): Promise<void> {
  const { seed, isOver, onKill, onProblem, lifetimes = lifetimeArbitrary } = killer;
  const next = drawer(lifetimes, seed);
  while (!isOver()) {
    const ended = await Promise.race([program.exited, pause(next()).then(() => null)]);
    if (ended !== null && !/another process has it/i.test(program.output())) {
      onProblem(`${program.name} ended by itself: ${JSON.stringify(ended)}\n${program.output()}`);
    }
    await program.kill();
    onKill();
    await program.start();
  }
}

/** One turn of a killer that takes care that others go on meanwhile. */
interface Turn {
  /** Which of those that run. */
  readonly pick: number;
  readonly pauseMs: number;
  /** How long after their new start they are killed once more; null to leave them alone. */
  readonly againMs: number | null;
}

const turnArbitrary: fc.Arbitrary<Turn> = fc.record({
  pick: fc.nat(),
  pauseMs: fc.integer({ min: 0, max: 400 }),
  againMs: fc.option(fc.integer({ min: 50, max: 1_500 }), { freq: 1 }),
});

/**
 * Kills processes in turns, two of them at a time: before the next is taken, the last is ready again. So most of them
 * work at any moment, however slow the machine starts them; whoever is killed has worked for a time of any length.
 */
export async function killInTurns(programs: readonly Killable[], killer: Killer): Promise<void> {
  const { seed, isOver, onKill, onProblem } = killer;
  const free = [...programs];
  const killAndStart = async (program: Killable): Promise<void> => {
    const ended = await Promise.race([program.exited, pause(0).then(() => null)]);
    if (ended !== null) onProblem(`${program.name} ended by itself: ${JSON.stringify(ended)}\n${program.output()}`);
    await program.kill();
    onKill();
    await program.start();
  };
  const lane = async (next: () => Turn): Promise<void> => {
    while (!isOver()) {
      const { pick, pauseMs, againMs } = next();
      const [program] = free.splice(pick % free.length, 1) as [Killable];
      await pause(pauseMs);
      await killAndStart(program);
      if (againMs !== null) {
        await pause(againMs);
        await killAndStart(program);
      }
      await program.untilReady().catch((error: unknown) => onProblem(String(error)));
      free.push(program);
    }
  };
  await Promise.all([0, 1].map((number) => lane(drawer(turnArbitrary, seed + number))));
}
