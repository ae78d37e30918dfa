import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ModelWorld, type PassFaults } from '../../test/support/model/model-world.js';
import type { TeamAct } from '../../test/support/model/team-acts.js';
import { operationAnnotation, planAnnotation } from './model.js';

const teamAct: fc.Arbitrary<TeamAct> = fc.oneof(
  {
    arbitrary: fc.record({
      does: fc.constant('declare' as const),
      what: fc.constantFrom('hibernated', 'maximum', 'plan', 'version', 'pool', 'adopted'),
    }),
    weight: 5,
  },
  { arbitrary: fc.record({ does: fc.constant('newToken' as const), isGood: fc.boolean() }), weight: 2 },
  { arbitrary: fc.constant({ does: 'retry' as const }), weight: 1 },
  { arbitrary: fc.constant({ does: 'delete' as const }), weight: 1 },
);
const passFaults: fc.Arbitrary<PassFaults> = fc.record({
  staleBy: fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, { arbitrary: fc.integer({ min: 1, max: 6 }), weight: 1 }),
  dies: fc.oneof({ arbitrary: fc.constant(false), weight: 4 }, { arbitrary: fc.constant(true), weight: 1 }),
  losesAnswer: fc.oneof(
    { arbitrary: fc.constant('no' as const), weight: 4 },
    { arbitrary: fc.constantFrom('yes' as const, 'late' as const), weight: 1 },
  ),
  meanwhile: fc.option(teamAct, { freq: 6 }),
});
const fault = fc.constantFrom(
  null,
  { state: 'Error', code: null, description: 'secret: resource_unavailable, error during placement' } as const,
  { state: 'Failed', code: 'ERR_INFRA_QUOTA_EXCEEDED', description: 'secret' } as const,
  { state: 'Failed', code: 'ERR_INFRA_RATE_LIMITS_EXCEEDED', description: 'secret' } as const,
  { state: 'Error', code: null, description: 'secret: token_readonly' } as const,
  { state: 'Failed', code: null, description: 'secret' } as const,
);

type Event = (world: ModelWorld) => void;
const named = (name: string, event: Event): Event => Object.assign(event, { toString: () => name });

const team = teamAct.map((act) => named(`team ${JSON.stringify(act)}`, (world) => world.act(act)));
const pass = passFaults.map((faults) => named(`pass ${JSON.stringify(faults)}`, (world) => world.pass(faults)));
const time = fc.integer({ min: 1, max: 200_000 }).map((ms) => named(`sleep ${ms}`, (world) => world.sleep(ms)));
const run = fc.integer({ min: 1, max: 6 }).map((times) =>
  named(`garden goes on ${times}`, (world) => {
    for (let i = 0; i < times; i += 1) world.garden.advance();
  }),
);
const trouble = fault.map((each) =>
  named(`fault ${JSON.stringify(each)}`, (world) => {
    world.garden.fault = each;
  }),
);
const heartbeat = fc.constantFrom<Event[]>(
  named('regular run', (world) => world.garden.reconcileByItself()),
  named('nodes ill', (world) => world.garden.care('False')),
  named('nodes progressing', (world) => world.garden.care('Progressing')),
  named('nodes well', (world) => world.garden.care('True')),
);
const freeSlot: Event = ({ garden }) => garden.mark({ [operationAnnotation]: undefined });
const others = fc.constantFrom<Event[]>(
  named('verify', (world) => world.verify()),
  named('slot occupied', (world) => world.garden.mark({ [operationAnnotation]: 'rotate-credentials-start' })),
  named('slot free', freeSlot),
  named('move', (world) => world.garden.move()),
  named('refuses', (world) => {
    world.garden.refusesApplies = true;
  }),
  named('garden away', (world) => {
    world.garden.isAway = true;
  }),
  named('garden back', (world) => {
    world.garden.isAway = false;
  }),
  named('hibernated by a schedule', (world) => world.garden.hibernate()),
  named('version raised', (world) => world.garden.raiseVersion()),
  named('scaled by an operator', (world) => world.garden.scale(9)),
  named('labels and annotations removed', (world) => world.garden.mark({ [planAnnotation]: undefined })),
  named('managers forgotten', (world) => world.garden.forgetManagers()),
  named('workers removed', (world) => world.garden.removeWorkers()),
);
const event = fc.oneof(
  { arbitrary: pass, weight: 8 },
  { arbitrary: run, weight: 6 },
  { arbitrary: team, weight: 3 },
  { arbitrary: time, weight: 2 },
  { arbitrary: trouble, weight: 1 },
  { arbitrary: heartbeat, weight: 1 },
  { arbitrary: others, weight: 2 },
);
const events = fc.array(event, { maxLength: 40 });

/** Ends every injected fault. What remains is up to the reconciler, and to the team, which retries. */
function calmDown(world: ModelWorld): void {
  const { garden } = world;
  garden.fault = null;
  garden.refusesApplies = false;
  garden.isAway = false;
  freeSlot(world);
  if (world.row !== null) garden.acceptedTokens.add(world.row.connection.tokenVersion);
  world.verify();
  world.comeToRest();
  world.act({ does: 'retry' });
  world.comeToRest();
}

/** The team declares again, which overrides earlier changes by other managers. */
function declareAgain(world: ModelWorld): void {
  if (world.differences().length === 0) return;
  world.sleep(10_000);
  world.act({ does: 'declare', what: 'plan' });
  world.comeToRest();
}

function conditionOf(world: ModelWorld, name: string) {
  return world.row?.known.conditions.find(({ type }) => type === name);
}

/** Test timeout in milliseconds. Thousands of passes take seconds, or much longer on a busy machine. */
const hangs = 180_000;
const finals = ['succeeded', 'failed', 'superseded'];

function worldAfter(happened: readonly Event[]): ModelWorld {
  const world = new ModelWorld();
  for (const each of happened) each(world);
  return world;
}

describe('passes', () => {
  it(
    'end every operation, and report each foreign change with its manager',
    () => {
      fc.assert(
        fc.property(events, (happened) => {
          const world = worldAfter(happened);

          calmDown(world);

          const { row, garden, operations } = world;
          expect(operations.filter(({ state }) => !finals.includes(state))).toEqual([]);
          // What was done after all has not failed.
          const isDone = row === null || row.known.observedGeneration === row.generation;
          expect(isDone ? operations.at(-1)?.state : 'succeeded').toBe('succeeded');
          if (row === null || garden.shoot === null) return;
          const differences = world.differences();
          const reconciled = conditionOf(world, 'Reconciled');
          expect(reconciled?.status).toBe(differences.length === 0 ? 'True' : 'False');
          for (const { field, manager } of differences) {
            expect(manager).not.toBeNull();
            const told = reconciled?.message.split(/[:,] /).find((part) => part.startsWith(`${field} is `));
            expect(told).toContain(`(${manager})`);
          }
        }),
        { numRuns: 300 },
      );
    },
    hangs,
  );

  it(
    'converge to the last declaration after any faults',
    () => {
      fc.assert(
        fc.property(events, (happened) => {
          const world = worldAfter(happened);

          calmDown(world);
          declareAgain(world);

          const { row, garden, operations } = world;
          expect(garden.creations).toBeLessThanOrEqual(1);
          expect(operations.filter(({ state }) => !finals.includes(state))).toEqual([]);
          if (row === null) {
            expect(garden.shoot).toBeNull();
            return;
          }
          expect(row.isDeleting).toBe(false);
          expect(row.known.observedGeneration).toBe(row.generation);
          expect(operations.at(-1)?.state).toBe('succeeded');
          expect(garden.shoot?.status.hibernated).toBe(row.spec.hibernated);
          expect(garden.runningToken).toBe(row.connection.tokenVersion);
          expect(row.known.phase).toMatch(row.spec.hibernated ? /^Hibernated$/ : /^(Ready|Degraded)$/);
        }),
        { numRuns: 300 },
      );
    },
    hangs,
  );

  it(
    'write nothing to a converged cluster, whatever the garden does by itself',
    () => {
      fc.assert(
        fc.property(events, fc.array(fc.oneof(run, heartbeat), { maxLength: 12 }), (happened, happens) => {
          const world = worldAfter(happened);
          calmDown(world);
          declareAgain(world);
          const { writes } = world;

          for (const each of happens) {
            each(world);
            world.pass();
          }

          expect(world.writes).toBe(writes);
        }),
        { numRuns: 100 },
      );
    },
    hangs,
  );

  it(
    'stop after one more try when only the team can fix the cause',
    () => {
      fc.assert(
        fc.property(events, (happened) => {
          const world = worldAfter(happened);
          const { garden } = world;
          calmDown(world);
          declareAgain(world);
          garden.fault = { state: 'Failed', code: 'ERR_INFRA_QUOTA_EXCEEDED', description: 'secret' };
          const before = garden.retries;

          world.act({ does: 'declare', what: 'maximum' });
          world.comeToRest();

          expect(garden.retries - before).toBeLessThanOrEqual(1);
          if (world.row === null) return;
          expect(world.operations.at(-1)?.state).toBe('failed');
          expect(world.row.known).toMatchObject({ phase: 'Failed', observedGeneration: world.row.generation - 1 });
        }),
        { numRuns: 100 },
      );
    },
    hangs,
  );

  it(
    'never recreate a cluster that was removed by others',
    () => {
      fc.assert(
        fc.property(events, fc.boolean(), fc.array(fc.oneof(pass, run, team)), (happened, isOrderly, happens) => {
          const world = worldAfter(happened);
          calmDown(world);
          declareAgain(world);
          const { garden } = world;
          const { creations } = garden;
          if (isOrderly) garden.deleteBehindOurBack();
          else garden.vanish();

          for (const each of happens) each(world);
          calmDown(world);

          expect(garden.creations).toBe(creations);
          expect(garden.shoot).toBeNull();
          if (world.row === null) return;
          expect(world.row.known.phase).toBe('Failed');
          expect(world.row.known.conditions).toContainEqual(
            expect.objectContaining({ type: 'Reconciled', status: 'False', reason: 'ShootMissing' }),
          );
        }),
        { numRuns: 100 },
      );
    },
    hangs,
  );
});
