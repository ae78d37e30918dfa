import { serverLabels } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { rebuildTroubleArbitrary, serverWorld, troubleArbitrary } from '../../test/support/server-world.js';

const planArbitrary = fc.record({
  troubles: fc.array(troubleArbitrary, { maxLength: 60 }),
  rebuildTroubles: fc.array(rebuildTroubleArbitrary, { maxLength: 4 }),
  /** Delays between passes in milliseconds. */
  gapsMs: fc.oneof(
    fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 20 }),
    fc.array(fc.integer({ min: 0, max: 70_000 }), { minLength: 1, maxLength: 40 }),
  ),
  failsRebuild: fc.boolean(),
  startMs: fc.integer({ min: 0, max: 999 }),
});

describe('an adoption under crashes and lost responses', () => {
  it('rebuilds at most once, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = serverWorld(plan);
        for (let passes = 0; passes < 400 && ['Adopting', 'Rebuilding'].includes(world.row().phase); passes += 1) {
          await world.pass();
          world.advance(plan.gapsMs[passes % plan.gapsMs.length] ?? 0);
          // Lets plans without any delay end too.
          world.advance(1_000);
          expect(world.rebuilds.length).toBeLessThanOrEqual(1);
        }
        world.advance(600_000);

        expect(world.rebuilds.length).toBeLessThanOrEqual(1);
        const { phase } = world.row();
        const operation = world.last()?.operation;
        if (phase === 'Ready') {
          expect(operation).toEqual({ to: 'succeeded' });
          expect(world.rebuilds).toHaveLength(1);
          expect(plan.failsRebuild).toBe(false);
          expect(world.labels()).toEqual({ env: 'prod', [serverLabels.claim]: 'token' });
        } else {
          expect(phase).toBe('Failed');
          expect(operation).toMatchObject({ to: 'failed', code: expect.stringMatching(/^server_/) });
        }
      }),
      { numRuns: 250 },
    );
  });

  it('becomes Ready when the rebuild succeeds and the faults end', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = serverWorld({ ...plan, failsRebuild: false, troubles: plan.troubles.slice(0, 12) });
        for (let passes = 0; passes < 200 && world.row().phase !== 'Ready'; passes += 1) {
          await world.pass();
          world.advance(5_000);
        }

        expect(world.row().phase).toBe('Ready');
        expect(world.rebuilds).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });
});
