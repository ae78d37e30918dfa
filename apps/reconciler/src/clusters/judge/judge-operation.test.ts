import type { Condition } from '@corral/contracts';
import { GardenError, type GardenErrorKind, type LastError, type Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import {
  absent,
  aDesired,
  aManager,
  anUpdate,
  anUpdatedDesired,
  anUpdatedShoot,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  ourHold,
  present,
} from '../../../test/support/a-cluster.js';
import { classifyFailure, type Failure } from '../classify.js';
import { decide } from '../decide/decide.js';
import { learnedFrom } from '../decide/shoot-runs.js';
import type { Desired, Observed, OpenOperation, Verdict } from '../model.js';
import { factsOf, observedHash } from '../observe.js';
import { raisedIn } from '../raised-images.js';
import { judge } from './judge.js';
import { judgeFailure } from './judge-failure.js';
import { unchangedVerdict, waitingOf, withWaiting } from './waiting.js';

const aDeletion: OpenOperation = { ...anUpdate(5), kind: 'cluster.delete' };

describe('operations', () => {
  type LastErrors = Partial<LastError>[];

  const later = minutesLater(6);
  const verdictOf = (desired: Desired, shoot: Shoot, now = later): Verdict => judge(desired, present(shoot), now);
  const reasonOf = ({ conditions }: Verdict, type = 'Reconciled') =>
    conditions.find((each) => each.type === type)?.reason;

  describe('an operation', () => {
    type Row = [what: string, desired: Desired, shoot: Shoot, verdict: object, now?: Date];
    const running = { operation: { to: 'running' } };
    const succeeded = { operation: { to: 'succeeded' } };
    const failed = (code: string, more: object = {}) => ({ operation: { to: 'failed', code, ...more } });
    const updated = anUpdatedDesired();
    const tried = (retriedGeneration: number) => anUpdatedDesired({ retriedGeneration });
    const unapplied = anUpdatedDesired({ appliedGeneration: 1 });
    const unchanged = anUpdatedDesired({ appliedShootGeneration: 1, appliedAt: noon });
    const rejected = (desired: Desired): Desired => ({
      ...desired,
      connection: { ...desired.connection, phase: 'Rejected' },
    });
    const ended = (state: string, error: Partial<LastError>, more: object = {}) =>
      anUpdatedShoot(state, { lastErrors: [error], ...more });
    const overQuota = { codes: ['ERR_INFRA_QUOTA_EXCEEDED'] };
    const badToken = { codes: ['ERR_INFRA_UNAUTHENTICATED'] };
    const rateLimit = ended('Failed', { codes: ['ERR_INFRA_RATE_LIMITS_EXCEEDED'] });
    const taken = { annotations: { 'gardener.cloud/operation': 'rotate-ca-start' } };
    const readOnly = ended(
      'Error',
      { description: 'token is read-only (token_readonly)' },
      { retryCycleStartTime: minutesLater(1).toISOString() },
    );
    const since = ended('Error', {}, { retryCycleStartTime: noon.toISOString() });
    const going = { deletionTimestamp: noon.toISOString(), lastOperation: { type: 'Delete' } };
    const aWriteAt = (time: string) => anUpdatedDesired({ appliedAt: new Date(time) });
    const done = { ...succeeded, phase: 'Ready', observedGeneration: 2, nextPassMs: null };
    const message = 'A limit of the cloud project has been reached.';
    const givenUp = { ...failed('provider_quota_exceeded', { message }), phase: 'Failed', nextPassMs: null };
    const needsToken = { ...failed('provider_token_rejected'), phase: 'Degraded', nextPassMs: null };
    const missing = { ...failed('shoot_missing'), phase: 'Deleting' };
    const updating = { ...running, phase: 'Updating' };
    const soon = { nextPassMs: 15_000 };
    const tenSecondsLater = new Date(minutesLater(5).getTime() + 10_000);
    const unobserved = { observedGeneration: 4 };
    const old = aShoot(aSteadyDesired(), { generation: 5 });
    const endedAtNoon = { lastOperation: { type: 'Reconcile', lastUpdateTime: noon.toISOString() } };
    const otherDeclaration = { annotations: { 'corral.dev/generation': '1' } };
    const reverted = { generation: 6, spec: { hibernation: { enabled: true } }, hibernated: true };

    it.each<Row>([
      ['succeeds when a run after our write succeeded', updated, anUpdatedShoot('Succeeded'), done],
      ['compares times in whole seconds', aWriteAt('2026-11-21T12:05:00.900Z'), anUpdatedShoot('Succeeded'), succeeded],
      ['succeeds when nothing changes in the Shoot', unchanged, aShoot(unchanged, { generation: 1 }), succeeded],
      ['shows the progress of its own run', updated, anUpdatedShoot('Processing'), { operation: { progress: 40 } }],
      ['shows no other', updated, anUpdatedShoot('Processing', unobserved), { operation: { progress: 0 } }],
      ['fails when the garden has given up after our retry', tried(2), ended('Failed', overQuota), givenUp],
      ['goes on while a retry is due', tried(1), ended('Failed', overQuota), running],
      ['goes on while others block it', tried(1), ended('Failed', overQuota, taken), { ...running, ...soon }],
      ['waits for the rate limit', tried(2), rateLimit, { ...running, nextPassMs: 20_000 }, tenSecondsLater],
      ['goes on with an error that only the team can fix', updated, readOnly, running, minutesLater(10)],
      ['fails with it after ten minutes', updated, readOnly, failed('provider_permission_denied'), minutesLater(11)],
      ['goes on after one refusal of the token', tried(1), ended('Failed', badToken), running],
      ['fails after the second', tried(2), ended('Failed', badToken), failed('provider_token_rejected')],
      ['has no deadline while the garden is working', updated, since, running, minutesLater(12 * 60)],
      ['fails as an internal error without a cause', tried(2), anUpdatedShoot('Failed'), failed('internal_error')],
      ['stays null when there is none', aSteadyDesired(), aShoot(aSteadyDesired()), { operation: { to: 'stay' } }],
      ['fails when the change needs a token that is rejected', rejected(unapplied), old, needsToken],
      ['goes on when it was applied before', rejected(updated), anUpdatedShoot('Processing'), updating],
      ['fails with its run', rejected(updated), anUpdatedShoot('Failed'), { operation: { to: 'failed' } }],
      ['fails when the cluster is deleted by others', updated, anUpdatedShoot('Processing', going), missing],
    ])('%s', (...[, desired, shoot, verdict, now]) => {
      expect(verdictOf(desired, shoot, now)).toMatchObject(verdict);
    });

    it.each<[string, Desired, Shoot]>([
      ['our write was not observed', updated, anUpdatedShoot('Succeeded', { observedGeneration: 4 })],
      ['the success is older than our write', updated, anUpdatedShoot('Succeeded', endedAtNoon)],
      ['the run is in progress', updated, anUpdatedShoot('Processing')],
      ['a migration succeeded', updated, anUpdatedShoot('Succeeded', { lastOperation: { type: 'Migrate' } })],
      ['the Shoot carries another declaration', updated, anUpdatedShoot('Succeeded', otherDeclaration)],
      ['the response to our write was lost', unapplied, anUpdatedShoot('Succeeded')],
      ['it was changed since', updated, anUpdatedShoot('Succeeded', { generation: 6, observedGeneration: 5 })],
      ['another manager has reverted it', updated, anUpdatedShoot('Succeeded', reverted)],
    ])('does not succeed while %s', (_, desired, shoot) => {
      expect(verdictOf(desired, shoot)).toMatchObject({ ...running, observedGeneration: 1, nextPassMs: 15_000 });
    });

    it('succeeds with the write when the Shoot itself does not change, as for a pool of adopted servers', () => {
      const desired = anUpdatedDesired({ appliedGeneration: 1, appliedShootGeneration: 4, appliedAt: noon });
      const own = aPool({ name: 'own', workerName: 'p4d5e6', source: 'pooled', autoscalerPriority: 100 });
      const wanted: Desired = { ...desired, pools: [aPool(), own] };
      const seen = aShoot(desired, { generation: 4, annotations: { 'corral.dev/generation': '1' } });
      const answered = aShoot(wanted, { generation: 4 });
      const learned = learnedFrom('applyShoot', wanted, answered, minutesLater(6));

      expect(decide(wanted, present(seen), minutesLater(6))).toEqual({ do: 'applyShoot' });
      expect(verdictOf({ ...wanted, known: { ...wanted.known, ...learned } }, answered)).toMatchObject({
        phase: 'Ready',
        observedGeneration: 2,
        operation: { to: 'succeeded' },
        nextPassMs: null,
      });
      expect(observedHash(answered)).not.toBe(observedHash(seen));
    });

    it.each<[string, Partial<Desired['connection']>, LastErrors]>([
      ['to us', { phase: 'Rejected' }, []],
      ['to the garden', {}, [{ codes: ['ERR_INFRA_UNAUTHENTICATED'] }]],
    ])(
      'makes a running cluster Degraded and not Failed when its token is refused %s',
      (_to, connection, lastErrors) => {
        const desired = anUpdatedDesired({ retriedGeneration: 2 });
        const without = { ...desired, connection: { ...desired.connection, ...connection } };

        for (const state of ['Failed', 'Error']) {
          expect(verdictOf(without, anUpdatedShoot(state, { lastErrors })).phase).toBe('Degraded');
          expect(verdictOf({ ...without, operation: null }, anUpdatedShoot(state, { lastErrors })).phase).toBe(
            'Degraded',
          );
        }
        const never = { ...without, known: { ...without.known, observedGeneration: 0 } };
        expect(verdictOf(never, anUpdatedShoot('Failed', { lastErrors })).phase).toBe('Failed');
      },
    );
  });

  describe('a deletion', () => {
    const desired = aSteadyDesired({ isDeleting: true, operation: aDeletion });
    const going = (state: string, codes: string[] = []) =>
      aShoot(desired, {
        generation: 2,
        deletionTimestamp: noon.toISOString(),
        lastOperation: { type: 'Delete', state, progress: 33 },
        lastErrors: codes.map((code) => ({ codes: [code] })),
      });

    it.each([
      ['never succeeds through a run, since it ends with the row', going('Succeeded'), 'Deleting'],
      ['goes on', going('Processing'), 'Deleting'],
      ['says what blocks it', going('Error', ['ERR_CLEANUP_CLUSTER_RESOURCES']), 'CleanupBlocked'],
    ])('%s', (_what, shoot, reason) => {
      const verdict = verdictOf(desired, shoot);

      expect([verdict.operation.to, reasonOf(verdict)]).toEqual(['running', reason]);
    });

    it('waits, and says so, when no Shoot was ever observed', () => {
      const unseen = aDesired({ isDeleting: true, operation: aDeletion });
      const first = judge(unseen, absent, noon);
      const known = { ...unseen.known, conditions: first.conditions };
      const second = judge({ ...unseen, known }, absent, minutesLater(1));

      expect(first).toMatchObject({ phase: 'Deleting', operation: { to: 'running' }, nextPassMs: 70_000 });
      expect(reasonOf(first, 'AbsenceConfirmed')).toBe('Waiting');
      expect(second.nextPassMs).toBe(10_000);
    });
  });
});

describe('failures', () => {
  const refused: Failure = {
    kind: 'needsUser',
    code: 'refused_by_garden',
    reason: 'SpecRefused',
    message: 'The specification was refused: see region.',
    fields: [],
  };
  const changed = aSteadyDesired({
    generation: 2,
    desiredHash: 'sha256:02',
    known: { appliedGeneration: 1, observedGeneration: 1 },
    operation: anUpdate(3),
  });
  const shoot = present(aShoot(aSteadyDesired()));
  const verdictOf = (desired: Desired, seen: Observed | null, failure: Failure) =>
    judgeFailure(desired, seen, failure, minutesLater(9));

  describe('a failure that the team must fix', () => {
    const { reason, message } = refused;

    it('ends the operation and says what is wrong with the specification', () => {
      const verdict = verdictOf(aDesired(), absent, refused);

      expect(verdict).toMatchObject({
        phase: 'Failed',
        operation: { to: 'failed', code: 'refused_by_garden', message },
        nextPassMs: null,
      });
      const lastTransitionTime = minutesLater(9).toISOString();
      expect(verdict?.conditions[0]).toEqual({
        type: 'SpecAccepted',
        status: 'False',
        reason,
        message,
        lastTransitionTime,
      });
    });

    it('leaves a working cluster Degraded at its observed generation, and needs no operation for it', () => {
      const verdict = verdictOf(changed, shoot, refused);

      expect(verdict).toMatchObject({ phase: 'Degraded', observedGeneration: 1 });
      expect(verdict?.conditions).toContainEqual(
        expect.objectContaining({ type: 'Reconciled', status: 'False', reason, message }),
      );
      expect(verdictOf({ ...changed, operation: null }, shoot, refused)?.operation).toEqual({ to: 'stay' });
    });

    it('keeps the time of its first occurrence', () => {
      const first = judgeFailure(changed, shoot, refused, noon);
      const known = { ...changed.known, conditions: first?.conditions ?? [] };

      expect(verdictOf({ ...changed, known }, shoot, refused)?.conditions[0]?.lastTransitionTime).toBe(
        noon.toISOString(),
      );
    });
  });

  describe('a failure of the platform', () => {
    const full: Failure = {
      kind: 'platform',
      afterMs: 30_000,
      code: 'platform_quota_exceeded',
      reason: 'PlatformQuotaExceeded',
    };

    it('is reported as such, and the operation waits', () => {
      const verdict = verdictOf(aDesired(), absent, full);

      expect(verdict).toMatchObject({ phase: 'Pending', operation: { to: 'running' } });
      expect(verdict?.conditions).toContainEqual(
        expect.objectContaining({
          type: 'Reconciled',
          status: 'False',
          reason: 'PlatformQuotaExceeded',
          message: 'A limit of this platform has been reached. The change waits until there is capacity.',
        }),
      );
      expect(verdict?.conditions.find(({ type }) => type === 'SpecAccepted')?.status).toBe('True');
    });
  });

  describe('other failures', () => {
    it('that are transient are judged by the observation', () => {
      expect(verdictOf(changed, shoot, { kind: 'retry', afterMs: 5 })).toMatchObject({
        phase: 'Updating',
        operation: { to: 'running' },
      });
    });

    it.each<[string, Observed | null, Failure]>([
      ['while the garden is unreachable', shoot, { kind: 'pause', afterMs: 5 }],
      ['that are bugs', shoot, { kind: 'bug', afterMs: 5 }],
      ['before the first observation', null, refused],
    ])('%s produce no verdict', (_, seen, failure) => {
      expect(verdictOf(changed, seen, failure)).toBeNull();
    });
  });
});

describe('an open operation', () => {
  const at = minutesLater(9);
  const overQuota = { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] };
  const outOfStock = {
    lastErrors: [{ codes: ['ERR_INFRA_RESOURCES_DEPLETED'], description: 'server type cpx31 is unavailable' }],
    retryCycleStartTime: noon.toISOString(),
  };
  const failing = aShoot(aSteadyDesired(), { ...outOfStock, lastOperation: { state: 'Error' } });
  const reconciledIn = ({ conditions }: ReturnType<typeof judge>) =>
    conditions.find(({ type }) => type === 'Reconciled');

  const deleting = aSteadyDesired({ isDeleting: true, operation: aDeletion });
  const going = (finalizers: string[], state = 'Succeeded') => {
    const shoot = aShoot(deleting, {
      deletionTimestamp: minutesLater(5).toISOString(),
      generation: 2,
      lastOperation: { type: 'Delete', state },
    });
    return present({ ...shoot, metadata: { ...shoot.metadata, finalizers } });
  };

  it.each(['Error', 'Processing'])('says what it waits for while the garden tries again (%s)', (state) => {
    const verdict = judge(anUpdatedDesired(), present(anUpdatedShoot(state, outOfStock)), at);

    expect(verdict.operation).toMatchObject({ to: 'running' });
    expect(verdict.waiting).toEqual({
      reason: 'ProviderOutOfStock',
      message: 'The provider has no capacity left for a machine type in hel1. Concerned: node pool general (cpx31).',
      since: at.toISOString(),
    });
    expect(reconciledIn(verdict)).toMatchObject({ status: 'False', reason: verdict.waiting?.reason });
    expect(reconciledIn(verdict)?.message).toBe(verdict.waiting?.message);
  });

  it('keeps the start of its wait while the reason stays', () => {
    const waiting = { reason: 'ProviderOutOfStock', message: 'No.', since: minutesLater(3).toISOString() };
    const since = (reason: string) =>
      judge(anUpdatedDesired({ waiting: { ...waiting, reason } }), present(anUpdatedShoot('Error', outOfStock)), at)
        .waiting?.since;

    expect([since('ProviderOutOfStock'), since('Retrying')]).toEqual([waiting.since, at.toISOString()]);
  });

  it('names the finalizers that keep a Shoot whose deletion is complete', () => {
    const kept = judge(deleting, going(['example.org/keep']), at);

    expect(kept).toMatchObject({
      operation: { to: 'running' },
      waiting: {
        reason: 'CleanupBlocked',
        message:
          'The cluster is gone, but finalizers of others keep its entry in the garden: example.org/keep. Whoever set them has to remove them.',
      },
    });
    expect(reconciledIn(kept)).toMatchObject({ reason: 'CleanupBlocked', message: kept.waiting?.message });
  });

  it.each([
    ['while the garden deletes', going(['gardener', 'example.org/keep'], 'Processing')],
    ['with finalizers of the garden', going(['gardener', 'gardener.cloud/reference-protection'])],
  ])('waits for no finalizer %s', (_when, seen) => {
    expect(judge(deleting, seen, at).waiting).toBeNull();
  });

  it('says what keeps its fields from it', () => {
    const pools = [aPool({ maximum: 9 })];
    const desired = anUpdatedDesired({}, { pools: [aPool()] });
    const path = { 'f:maximum': {} };
    const fields = { 'f:spec': { 'f:provider': { 'f:workers': { 'k:{"name":"p1a2b3"}': path } } } };
    const { spec } = aShoot({ ...desired, pools });
    const shoot = anUpdatedShoot('Succeeded', { spec, managers: [ourHold, aManager('kubectl-edit', fields)] });

    expect(judge(desired, present(shoot), at).waiting).toMatchObject({
      reason: 'Drifted',
      message: expect.stringContaining('maximum of node pool general is 9 instead of 3 (kubectl-edit)'),
    });
  });

  it.each([
    ['a change goes on', anUpdatedDesired(), present(anUpdatedShoot('Processing'))],
    ['it has succeeded', anUpdatedDesired(), present(anUpdatedShoot('Succeeded'))],
    ['the cluster is about to be created', aDesired(), absent],
    ['it is no longer open', aSteadyDesired(), present(failing)],
    ['it has failed', anUpdatedDesired({ retriedGeneration: 2 }), present(anUpdatedShoot('Failed', overQuota))],
  ])('waits for nothing when %s', (_when, desired, seen) => {
    expect(judge(desired, seen, at).waiting).toBeNull();
  });

  it('waits for the confirmation of its connection', () => {
    const unverified = aDesired({ connection: { phase: 'Unverified', tokenVersion: 2 } });

    expect(judge(unverified, absent, at).waiting?.reason).toBe('ConnectionNotReady');
  });

  const image = { name: 'ubuntu', version: '24.4.0' };
  const declared = anUpdatedDesired({}, { pools: [aPool({ image })] });
  const raisedTo = (more: object) => {
    const { spec } = aShoot({ ...declared, pools: [aPool({ image: { ...image, version: '24.4.1' }, ...more })] });
    return { spec, generation: 6, observedGeneration: 6 };
  };
  const known = (shoot: Shoot) => raisedIn(declared, factsOf(shoot).workers, [], at);

  it('waits for nothing because of an image that the garden has raised', () => {
    const shoot = anUpdatedShoot('Processing', raisedTo({}));
    const verdict = judge(known(shoot), present(shoot), at);

    expect(reconciledIn(verdict)?.message).toContain('image.version of node pool general is 24.4.1 instead of 24.4.0');
    expect(verdict.waiting).toBeNull();
    const short = anUpdatedShoot('Error', { ...raisedTo({}), ...outOfStock });
    expect(judge(known(shoot), present(short), at).waiting?.reason).toBe('ProviderOutOfStock');
  });

  it('is told of a raised image beside what a declaration can set back, and only there', () => {
    const shoot = anUpdatedShoot('Succeeded', raisedTo({ maximum: 9 }));
    const { conditions } = judge(known(shoot), present(shoot), at);

    const told = (of: string) => conditions.find(({ type }) => type === of)?.message;
    expect([told('Reconciled')?.includes('24.4.1'), told('Drifted')]).toEqual([
      true,
      'Another manager changed fields that are declared here: maximum of node pool general is 9 instead of 3.',
    ]);
  });
});

describe('what a pass waits for', () => {
  const random = () => 0;
  const waiting = (error: unknown, desired: Desired = aDesired(), now = noon) =>
    waitingOf(error, classifyFailure(error, { desired, step: 'applyShoot', random }), desired, now);
  const gardenError = (kind: GardenErrorKind) => new GardenError(kind, 'put');
  const afterFailures = (failures: number) => aDesired({ known: { failures } });

  describe('a failed pass', () => {
    it.each<[GardenErrorKind, string | null]>([
      ['unreachable', 'GardenUnavailable'],
      ['uncertain', 'GardenUnavailable'],
      ['server_error', 'GardenUnavailable'],
      ['unusable', 'GardenUnavailable'],
      ['credentials', 'GardenAccessDenied'],
      ['throttled', 'UpstreamThrottled'],
      ['refused', null],
    ])('with garden error %s reports the reason and its start: %s', (kind, reason) => {
      expect(waiting(gardenError(kind))).toEqual(
        reason && { reason, message: expect.any(String), since: noon.toISOString() },
      );
    });

    it('is reported as a platform fault when the error is a bug', () => {
      expect(waiting(new Error('null has no members'))).toMatchObject({ reason: 'PlatformFault' });
      expect(waiting(gardenError('rbac'), afterFailures(9))).toMatchObject({ reason: 'PlatformFault' });
    });

    it('after a concurrent write is reported only when it keeps failing', () => {
      expect(waiting(gardenError('exists'), afterFailures(1))).toBeNull();
      expect(waiting(gardenError('exists'), afterFailures(2))).toMatchObject({ reason: 'Retrying' });
    });

    it('keeps its start time for the same reason, and resets it for another reason', () => {
      const first = waiting(gardenError('unreachable'));
      const known = aDesired({ known: { waiting: first, failures: 1 } });

      expect(waiting(gardenError('uncertain'), known, minutesLater(3))).toEqual(first);
      expect(waiting(gardenError('throttled'), known, minutesLater(3))?.since).toBe(minutesLater(3).toISOString());
    });
  });

  describe('the condition Reconciled while a pass waits', () => {
    const said = (status: Condition['status'], more: Partial<Condition> = {}): Condition => ({
      type: 'Reconciled',
      status,
      reason: 'Said',
      message: 'Said.',
      lastTransitionTime: noon.toISOString(),
      ...more,
    });
    const judged = (conditions: readonly Condition[], now = minutesLater(2)) => {
      const desired = aSteadyDesired({ known: { conditions } });
      return withWaiting(unchangedVerdict(desired, 5_000), waiting(gardenError('unreachable')), desired, now);
    };

    it('contains the reason and its start', () => {
      const other = said('True', { type: 'NodesReady' });

      expect(judged([other, said('False', { reason: 'Queued' })])).toMatchObject({
        phase: 'Ready',
        operation: { to: 'stay' },
        conditions: [
          other,
          {
            type: 'Reconciled',
            status: 'False',
            reason: 'GardenUnavailable',
            message: `The garden does not answer. Work continues once the garden is available again. This has been so since ${noon.toISOString()}.`,
            lastTransitionTime: noon.toISOString(),
          },
        ],
      });
    });

    it('becomes Unknown when it was True, since it cannot be observed', () => {
      const { conditions } = judged([said('True')]);

      expect(conditions).toMatchObject([{ status: 'Unknown', lastTransitionTime: minutesLater(2).toISOString() }]);
      expect(judged(conditions, minutesLater(9)).conditions).toEqual(conditions);
    });

    it('is added when it was missing', () => {
      expect(judged([]).conditions).toMatchObject([{ type: 'Reconciled', status: 'False' }]);
    });
  });
});
