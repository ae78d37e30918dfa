import type { ServerErrorCode, ServerPhase } from '@corral/contracts';
import type { OperationVerdict, ServerTimes, Verdict, WantedServer } from './model.js';

const DAY_MS = 86_400_000;

interface Waiting {
  readonly message: string;
  readonly inMs: number;
  /** 0 to 99. */
  readonly progress: number;
  /** What it fails of when its time is over. */
  readonly code?: ServerErrorCode;
  readonly failures?: number;
  readonly doubtsToken?: boolean;
}

/** How far an adoption is at each of its marks, for people. */
export const progressAt = { begun: 5, claimed: 20, asked: 30, rebuilding: 35 } as const;

/** The adoption goes on later; when its time is over, it fails of what it waits for. */
export function waiting(wanted: WantedServer, now: Date, times: ServerTimes, wait: Waiting): Verdict {
  const { message, inMs, progress, code = 'server_adoption_timeout', failures = 0, doubtsToken = false } = wait;
  if (now.getTime() - wanted.acknowledgedAt.getTime() > times.adoptionMsMax) return failed(code, message);
  return {
    ...{ phase: wanted.rebuildAskedAt === null ? 'Adopting' : 'Rebuilding', message, lookAgainMs: inMs },
    ...{ operation: { to: 'running', progress }, failures, doubtsToken },
  };
}

export const failed = (code: ServerErrorCode, message: string): Verdict =>
  resting('Failed', message, { to: 'failed', code, message }, null);

/** @param lookAgainMs by default in about a day: servers go without telling anybody */
export function resting(
  phase: ServerPhase,
  message: string,
  operation: OperationVerdict,
  lookAgainMs: number | null = DAY_MS,
): Verdict {
  return { phase, message, operation, lookAgainMs, failures: 0, doubtsToken: false };
}
