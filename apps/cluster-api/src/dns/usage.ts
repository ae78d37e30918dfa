import type { KeptReading } from '@corral/admission';
import type { DnsUsageBody } from '@corral/contracts';
import { orLate } from '@corral/service';

type UpstreamBody = DnsUsageBody['upstream'];

const unknownBudget: UpstreamBody = { limit: null, remaining: null, resetAt: null, observedAt: null };

/**
 * What is left of the upstream's request budget, for people. Never rejects, because the rest of the answer waits for it: the
 * budget is unknown when it cannot be read in time.
 *
 * @param readBudgets reads the budgets that gateways and reconcilers share, by project
 * @param waitMs time limit of the read
 */
export async function upstreamUsage(
  readBudgets: () => Promise<Record<string, KeptReading>>,
  waitMs: number,
  onError: (error: unknown) => void,
): Promise<UpstreamBody> {
  try {
    const late = () => new Error(`The budget was not read within ${waitMs} ms`);
    return latestOf(Object.values(await orLate(readBudgets(), waitMs, late)));
  } catch (error) {
    onError(error);
    return unknownBudget;
  }
}

/** After a token was replaced, the budget of the old one remains for a while. */
function latestOf(readings: readonly KeptReading[]): UpstreamBody {
  const [latest] = readings.toSorted((a, b) => b.observedAt.getTime() - a.observedAt.getTime());
  if (latest === undefined) return unknownBudget;
  const { limit, remaining, resetAt, observedAt } = latest;
  return { limit, remaining, resetAt: resetAt?.toISOString() ?? null, observedAt: observedAt.toISOString() };
}
