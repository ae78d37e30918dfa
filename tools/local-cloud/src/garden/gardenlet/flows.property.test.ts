import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OperationState, OperationType, Shoot } from '../kinds/shoot/shoot.js';
import { decideStep } from './decide-step.js';
import { defaultSpeed } from './flow-plan.js';
import { advanceFlow, checkHealth, type Outcome, startFlow, type World } from './perform-step.js';
import type { FlowFault, Simulation } from './simulation.js';

const types: OperationType[] = ['Create', 'Reconcile', 'Delete', 'Migrate', 'Restore'];
const states: OperationState[] = ['Processing', 'Succeeded', 'Error', 'Failed'];

/** A Shoot in any state that a crash, an operator or an older garden may leave. */
const anyShoot = fc
  .record({
    type: fc.constantFrom(...types),
    state: fc.constantFrom(...states),
    hasOperation: fc.boolean(),
    generation: fc.integer({ min: 1, max: 3 }),
    observedGeneration: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    seedName: fc.constantFrom('seed-eu', 'seed-eu-2'),
    statusSeedName: fc.constantFrom('seed-eu', 'seed-eu-2', undefined),
    hibernate: fc.boolean(),
    hibernated: fc.boolean(),
    isDeleted: fc.boolean(),
  })
  // A successful deletion leaves no Shoot.
  .filter(({ type, state }) => type !== 'Delete' || state !== 'Succeeded')
  .map((given): Shoot => {
    const { type, state, generation, observedGeneration } = given;
    // Only a migration removes the seed from the status.
    const isBetween = given.hasOperation && type !== 'Migrate' && given.statusSeedName === undefined;
    const isMigrated = given.hasOperation && type === 'Migrate' && state === 'Succeeded';
    const statusSeedName = isMigrated ? undefined : isBetween ? given.seedName : given.statusSeedName;
    const lastOperation = { type, state, progress: 50, description: '', lastUpdateTime: '2026-01-01T00:00:00Z' };
    return {
      apiVersion: 'core.gardener.cloud/v1beta1',
      kind: 'Shoot',
      metadata: {
        name: 'web',
        namespace: 'garden-acme',
        generation,
        finalizers: ['gardener'],
        ...(given.isDeleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      },
      spec: {
        region: 'hel1',
        seedName: given.seedName,
        kubernetes: { version: '1.34.3' },
        provider: { type: 'hcloud' },
        hibernation: { enabled: given.hibernate },
      },
      status: {
        hibernated: given.hibernated,
        technicalID: 'shoot--acme--web',
        uid: 'uid',
        ...(observedGeneration === undefined ? {} : { observedGeneration }),
        ...(statusSeedName === undefined ? {} : { seedName: statusSeedName }),
        ...(given.hasOperation ? { lastOperation } : {}),
      },
    };
  });

const world = (nowMs: number, fault: FlowFault | null): World => ({
  nowMs,
  project: 'acme',
  newUid: 'uid',
  tokenFault: null,
  orderedFault: fault,
  addresses: [{ name: 'external', url: 'https://127.0.0.1:1' }],
});

interface Run {
  readonly end: Shoot | 'gone';
  readonly steps: number;
  readonly seen: readonly Shoot[];
}

/** Performs steps until none is due. @param faults for the flows, in order of their start */
function run(first: Shoot, faults: readonly (FlowFault | null)[] = []): Run {
  let shoot = first;
  let simulation: Simulation = {};
  let nowMs = 0;
  let flows = 0;
  const seen = [first];
  for (let steps = 0; steps < 200; steps += 1) {
    const due = decideStep(shoot, simulation, defaultSpeed);
    if (due === null) return { end: shoot, steps, seen };
    nowMs += due.afterMs;
    const at = world(nowMs, due.step.do === 'start' ? (faults[flows] ?? null) : null);
    let outcome: Outcome;
    if (due.step.do === 'start') {
      flows += 1;
      outcome = startFlow(shoot, simulation, due.step.type, at);
    } else if (due.step.do === 'advance' && simulation.flow !== undefined) {
      outcome = advanceFlow(shoot, simulation, simulation.flow, at);
    } else outcome = checkHealth(shoot, simulation, at);
    if (outcome.kind === 'gone') return { end: 'gone', steps, seen };
    ({ shoot, simulation } = outcome);
    seen.push(shoot);
  }
  throw new Error(`not at rest after 200 steps: ${JSON.stringify(shoot.status)}`);
}

/** Failed without a newer generation: it waits for a user to act. */
const hasGivenUp = ({ metadata, status }: Shoot): boolean =>
  status.lastOperation?.state === 'Failed' && status.observedGeneration === metadata.generation;

const settled = (shoot: Shoot): boolean =>
  shoot.status.lastOperation?.state === 'Succeeded' &&
  shoot.status.observedGeneration === shoot.metadata.generation &&
  shoot.status.seedName === shoot.spec.seedName &&
  shoot.status.lastErrors === undefined;

describe('the gardenlet', () => {
  it('brings every Shoot to rest: reconciled to its spec, gone after deletion, or given up on', () => {
    fc.assert(
      fc.property(anyShoot, (shoot) => {
        const { end } = run(shoot);

        if (end === 'gone') expect(shoot.metadata.deletionTimestamp).toBeDefined();
        else expect(hasGivenUp(end) || settled(end)).toBe(true);
      }),
    );
  });

  it('completes after any number of temporary failures', () => {
    const faults = fc.array(fc.constantFrom<FlowFault>({ message: 'a' }, { codes: ['ERR_INFRA_RESOURCES_DEPLETED'] }), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(anyShoot, faults, (shoot, some) => {
        const { end } = run(shoot, some);

        if (end !== 'gone') expect(hasGivenUp(end) || settled(end)).toBe(true);
      }),
    );
  });

  it('never decreases progress within an attempt and never reports a generation before starting it', () => {
    fc.assert(
      fc.property(anyShoot, (shoot) => {
        const { seen } = run(shoot);

        for (const [index, { metadata, status }] of seen.entries()) {
          const before = seen[index - 1]?.status.lastOperation;
          const now = status.lastOperation;
          if (index > 1 && before?.state === 'Processing' && now?.state === 'Processing') {
            expect(now.progress).toBeGreaterThanOrEqual(before.progress);
          }
          if (index > 0 && now?.state === 'Processing') expect(status.observedGeneration).toBe(metadata.generation);
        }
      }),
    );
  });
});
