import { randomInt } from 'node:crypto';

export interface CrashPlan {
  /** The seed of everything that is drawn. */
  readonly seed: number;
  /** The shortest time. */
  readonly minutes: number;
}

/** `CORRAL_CRASH_SEED=…` repeats the choices of a run. `CORRAL_CRASH_MINUTES=30` sets its duration. */
export const readCrashPlan = ({ minutes }: Pick<CrashPlan, 'minutes'>): CrashPlan => ({
  seed: Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000)),
  minutes: Number(process.env.CORRAL_CRASH_MINUTES ?? minutes),
});
