import { serverLabels } from '@corral/contracts';
import type { ProjectClient, ProjectOutcome, ServerAction, ServerReading } from '@corral/hcloud';
import { silentLog } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Lease } from '../loop/lease-store.js';
import type { ServerTimes, Verdict, WantedServer } from './model.js';
import { serverPass } from './server-pass.js';
import type { ServerStore } from './server-store.js';

/*
 * Passes over one server in virtual time, against a provider that may not answer, that answers late, or that acts without
 * answering; and with processes that die before or after any call, of the provider or of the database, or stand still.
 */

type Trouble =
  | { readonly kind: 'none' }
  /** The process dies: before the call had its effect, or after it. */
  | { readonly kind: 'dies'; readonly when: 'before' | 'after' }
  /** The provider's answer is lost: before it acted, after it acted, or it acts up to that many seconds later. */
  | { readonly kind: 'lost'; readonly acts: 'never' | 'at once' | 'later'; readonly afterS: number }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'throttled' };

const times: ServerTimes = { rebuildGraceMs: 60_000, adoptionMsMax: 3_600_000 };
const REBUILD_MS = 20_000;

class Died extends Error {}

const troubleArbitrary: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'none' } as const) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('dies' as const), when: fc.constantFrom('before', 'after') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('lost' as const),
      acts: fc.constantFrom('never', 'at once', 'later'),
      afterS: fc.integer({ min: 0, max: 50 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('refused' as const), code: fc.constantFrom('locked', 'conflict') }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'throttled' } as const) },
);

const planArbitrary = fc.record({
  /** Of one call after the other. */
  troubles: fc.array(troubleArbitrary, { maxLength: 60 }),
  /** Of the calls that ask for the rebuild, where trouble matters most. */
  rebuildTroubles: fc.array(troubleArbitrary, { maxLength: 4 }),
  /** Between passes. */
  gapsMs: fc.oneof(
    fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 20 }),
    fc.array(fc.integer({ min: 0, max: 70_000 }), { minLength: 1, maxLength: 40 }),
  ),
  failsRebuild: fc.boolean(),
  startMs: fc.integer({ min: 0, max: 999 }),
});
type Plan = typeof planArbitrary extends fc.Arbitrary<infer P> ? P : never;

function aWorld({ troubles, rebuildTroubles, failsRebuild, startMs }: Plan) {
  const left = [...troubles];
  const leftOfRebuilds = [...rebuildTroubles];
  let nowMs = Date.parse('2026-11-21T12:00:00Z') + startMs;
  const second = () => new Date(Math.floor(nowMs / 1_000) * 1_000);
  let labels: Record<string, string> = { env: 'prod' };
  const actions: { id: number; startedMs: number }[] = [];
  const arrivals: { atMs: number; act: () => void }[] = [];
  const isRunning = () => actions.some(({ startedMs }) => nowMs < startedMs + REBUILD_MS);
  const advance = (ms: number): void => {
    nowMs += ms;
    for (const arrival of arrivals.splice(0)) {
      if (arrival.atMs > nowMs) arrivals.push(arrival);
      else arrival.act();
    }
  };
  let row: WantedServer = {
    ...{ id: 'row', serverId: 4711, serverType: 'cx22', location: 'hel1', architecture: 'amd64', generation: 1 },
    ...{ acknowledgedAt: new Date(nowMs), phase: 'Adopting', claimToken: 'token', claimedAt: null, imageId: null },
    ...{ rebuildAskedAt: null, rebuildActionId: null, deregisterRequestedAt: null, failures: 0 },
    connection: { id: 'connection', phase: 'Ready' },
  };
  let last: Verdict | null = null;
  const asks: number[] = [];

  /** A call of the database: it happens wholly or not, and the process may not live to learn of it. */
  const stored = async <T>(work: () => T): Promise<T> => {
    const trouble = left.shift() ?? { kind: 'none' };
    if (trouble.kind === 'dies' && trouble.when === 'before') throw new Died();
    const result = work();
    if (trouble.kind === 'dies') throw new Died();
    return result;
  };
  const asked = async <T>(act: () => ProjectOutcome<T>, troublesOf = left): Promise<ProjectOutcome<T>> => {
    const trouble = troublesOf.shift() ?? { kind: 'none' };
    switch (trouble.kind) {
      case 'none':
        return act();
      case 'dies':
        if (trouble.when === 'after') act();
        throw new Died();
      case 'lost':
        if (trouble.acts === 'at once') act();
        if (trouble.acts === 'later') arrivals.push({ atMs: nowMs + trouble.afterS * 1_000, act: () => void act() });
        advance(1_000);
        return { kind: 'uncertain', reason: 'lost' };
      case 'refused':
        return { kind: 'refused', status: 423, code: trouble.code };
      case 'throttled':
        return { kind: 'throttled', retryAfterMs: 5_000 };
    }
  };
  const ok = <T>(value: T): ProjectOutcome<T> => ({ kind: 'ok', value, at: second() });
  const reading = (): ServerReading => ({
    ...{ id: 4711, name: 'web', serverType: 'cx22', location: 'hel1', architecture: 'amd64', labels: { ...labels } },
    ...{ isRebuildProtected: false, isInRescue: false, hasIso: false, diskGb: 40 },
    status: isRunning() ? 'rebuilding' : 'running',
    isLocked: isRunning(),
    imageId: actions.length === 0 || isRunning() ? 1 : 7,
  });
  const actionOf = ({ id, startedMs }: { id: number; startedMs: number }): ServerAction => ({
    ...{ id, command: 'rebuild_server', progress: 50, startedAt: new Date(Math.floor(startedMs / 1_000) * 1_000) },
    status: nowMs < startedMs + REBUILD_MS ? 'running' : failsRebuild ? 'error' : 'success',
    errorCode: failsRebuild ? 'action_failed' : null,
  });
  const project: ProjectClient = {
    readServer: () => asked(() => ok(reading())),
    listServerActions: () => asked(() => ok(actions.map(actionOf).reverse())),
    readAction: (id) => asked(() => ok(actionOf(actions.find((each) => each.id === id) as (typeof actions)[number]))),
    putLabels: (_id, next) =>
      asked(() => {
        labels = { ...next };
        return ok(reading());
      }),
    findSystemImage: (name) => asked(() => ok({ id: 7, name, architecture: 'amd64', diskGb: 5 })),
    rebuild: () =>
      asked<ServerAction>(() => {
        if (isRunning()) return { kind: 'refused', status: 423, code: 'locked' };
        const action = { id: actions.length + 1, startedMs: nowMs };
        actions.push(action);
        return ok(actionOf(action));
      }, leftOfRebuilds),
  };
  const change = (next: Partial<WantedServer>) => {
    row = { ...row, ...next };
    return true;
  };
  const store: ServerStore = {
    read: () =>
      stored(() => ({
        wanted: row,
        token: { connectionId: 'connection', keyId: 'k', sealed: Buffer.alloc(0) },
        now: new Date(nowMs),
      })),
    recordClaim: () => stored(() => change({ claimedAt: new Date(nowMs) })),
    recordAsk: (_lease, _wanted, { askedAt, imageId }) =>
      stored(() => {
        asks.push(nowMs);
        return row.rebuildAskedAt === null && change({ rebuildAskedAt: askedAt, imageId, phase: 'Rebuilding' });
      }),
    forgetAsk: () => stored(() => row.rebuildActionId === null && change({ rebuildAskedAt: null })),
    recordAction: (_lease, _wanted, actionId) => stored(() => change({ rebuildActionId: actionId })),
    requestVerification: async () => undefined,
    settle: (_lease, _wanted, verdict) =>
      stored(() => {
        last = verdict;
        change({ phase: verdict.phase, failures: verdict.failures });
        return { kind: 'released', again: false };
      }),
    forget: async () => false,
  };
  const lease: Lease = { teamId: 'team', id: 'row', fence: 1 };
  const pass = serverPass({
    ...{ store, image: 'ubuntu-24.04', times, leaseMs: 60_000, log: silentLog, random: () => 0, tick: () => nowMs },
    leases: {
      takeLease: async () => ({ kind: 'taken', lease }),
      renewLease: async () => true,
      release: async () => ({ kind: 'released', again: false }),
    },
    projects: { within: (_token, work) => work(project) },
    openToken: () => 'token',
  });
  return {
    advance,
    actions,
    labels: () => labels,
    row: () => row,
    last: () => last,
    /** @returns false when the process died on the way */
    async pass(): Promise<boolean> {
      try {
        await pass('row', new AbortController().signal);
        return true;
      } catch (error) {
        if (error instanceof Died) return false;
        throw error;
      }
    },
  };
}

describe('an adoption, whatever dies or is lost on the way', () => {
  it('rebuilds once at the most, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = aWorld(plan);
        for (let passes = 0; passes < 200 && ['Adopting', 'Rebuilding'].includes(world.row().phase); passes += 1) {
          await world.pass();
          world.advance(plan.gapsMs[passes % plan.gapsMs.length] ?? 0);
          // Also plans without any pause come to an end.
          world.advance(1_000);
          expect(world.actions.length).toBeLessThanOrEqual(1);
        }
        world.advance(600_000);

        expect(world.actions.length).toBeLessThanOrEqual(1);
        const { phase } = world.row();
        const operation = world.last()?.operation;
        if (phase === 'Ready') {
          expect(operation).toEqual({ to: 'succeeded' });
          expect(world.actions).toHaveLength(1);
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

  it('is Ready when the rebuild goes well and the troubles come to an end', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = aWorld({ ...plan, failsRebuild: false, troubles: plan.troubles.slice(0, 12) });
        for (let passes = 0; passes < 200 && world.row().phase !== 'Ready'; passes += 1) {
          await world.pass();
          world.advance(5_000);
        }

        expect(world.row().phase).toBe('Ready');
        expect(world.actions).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });
});
