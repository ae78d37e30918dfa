import { randomInt } from 'node:crypto';

export interface CrashPlan {
  /** Of all that is drawn. */
  readonly seed: number;
  /** For at least so long. */
  readonly minutes: number;
}

/** `CORRAL_CRASH_SEED=…` repeats the choices of a run; `CORRAL_CRASH_MINUTES=30` goes on for so long. */
export const readCrashPlan = ({ minutes }: Pick<CrashPlan, 'minutes'>): CrashPlan => ({
  seed: Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000)),
  minutes: Number(process.env.CORRAL_CRASH_MINUTES ?? minutes),
});
