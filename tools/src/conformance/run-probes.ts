import { type Probe, type Probing, prepare } from './probe.js';
import { probesOfAccess } from './probes-of-access.js';
import { probesOfAdmission } from './probes-of-admission.js';
import { probesOfPools } from './probes-of-pools.js';
import { probesOfReads } from './probes-of-reads.js';
import { probesOfShoots } from './probes-of-shoots.js';
import { connect, type Target } from './target.js';

/** Probes in the order in which they run: the last ones read the Shoots of the earlier ones. */
export const probes: readonly Probe[] = [
  ...probesOfShoots,
  ...probesOfPools,
  ...probesOfAdmission,
  ...probesOfAccess,
  ...probesOfReads,
];

export interface Outcomes {
  readonly target: string;
  /** Outcomes in the order of the probes. */
  readonly outcomes: readonly string[];
}

/** Runs all probes in a new Project. */
export async function runProbes(target: Target, projectToken: string): Promise<Outcomes> {
  const garden = connect(target.accounts.reconciler);
  try {
    const namespace = await prepare(target, garden, projectToken);
    const probing: Probing = { target, garden, namespace, projectToken };
    const outcomes: string[] = [];
    for (const probe of probes) outcomes.push(await outcomeOf(probe, probing));
    return { target: target.name, outcomes };
  } finally {
    await garden.close();
  }
}

function outcomeOf(probe: Probe, probing: Probing): Promise<string> {
  return probe.run(probing).catch((error: unknown) => `failed: ${(error as Error).message.split('\n')[0]}`);
}

export function isExpected({ expected }: Probe, outcome: string): boolean {
  return typeof expected === 'string' ? outcome === expected : expected.test(outcome);
}
