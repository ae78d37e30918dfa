import { asOperationId } from '@corral/contracts';
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
import { factsOf } from '../observe.js';
import { raisedIn } from '../raised-images.js';
import { judge } from './judge.js';

const at = minutesLater(9);
const outOfStock = {
  lastErrors: [{ codes: ['ERR_INFRA_RESOURCES_DEPLETED'], description: 'server type cpx31 is unavailable' }],
  retryCycleStartTime: noon.toISOString(),
};
const reconciledIn = ({ conditions }: ReturnType<typeof judge>) => conditions.find(({ type }) => type === 'Reconciled');

const aDeletion = {
  id: asOperationId('o3'),
  kind: 'cluster.delete',
  generation: 1,
  state: 'running',
  progress: 40,
  acceptedAt: noon,
} as const;
const deleting = aSteadyDesired({ isDeleting: true, operation: aDeletion });
const going = (finalizers: string[], state = 'Succeeded') => {
  const shoot = aShoot(deleting, {
    deletionTimestamp: minutesLater(5).toISOString(),
    generation: 2,
    lastOperation: { type: 'Delete', state },
  });
  return present({ ...shoot, metadata: { ...shoot.metadata, finalizers } });
};

describe('an open operation', () => {
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
    [
      'it is no longer open',
      aSteadyDesired(),
      present(aShoot(aSteadyDesired(), { ...outOfStock, lastOperation: { state: 'Error' } })),
    ],
    [
      'it has failed',
      anUpdatedDesired({ retriedGeneration: 2 }),
      present(anUpdatedShoot('Failed', { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] })),
    ],
  ])('waits for nothing when %s', (_when, desired, seen) => {
    expect(judge(desired, seen, at).waiting).toBeNull();
  });

  it('waits for nothing because of an image that the garden has raised', () => {
    const image = { name: 'ubuntu', version: '24.4.0' };
    const declared = anUpdatedDesired({}, { pools: [aPool({ image })], operation: anUpdate() });
    const { spec } = aShoot({ ...declared, pools: [aPool({ image: { ...image, version: '24.4.1' } })] });
    const shoot = anUpdatedShoot('Processing', { spec, generation: 6, observedGeneration: 6 });
    const desired = raisedIn(declared, factsOf(shoot).workers, { images: [] }, at);

    const verdict = judge(desired, present(shoot), at);

    expect(reconciledIn(verdict)?.message).toContain('image.version of node pool general is 24.4.1 instead of 24.4.0');
    expect(verdict.waiting).toBeNull();
    const short = anUpdatedShoot('Error', { spec, generation: 6, observedGeneration: 6, ...outOfStock });
    expect(judge(desired, present(short), at).waiting?.reason).toBe('ProviderOutOfStock');
  });

  it('is told of a raised image beside what a declaration can set back, and only there', () => {
    const image = { name: 'ubuntu', version: '24.4.0' };
    const declared = anUpdatedDesired({}, { pools: [aPool({ image })] });
    const { spec } = aShoot({ ...declared, pools: [aPool({ image: { ...image, version: '24.4.1' }, maximum: 9 })] });
    const shoot = anUpdatedShoot('Succeeded', { spec, generation: 6, observedGeneration: 6 });

    const { conditions } = judge(raisedIn(declared, factsOf(shoot).workers, { images: [] }, at), present(shoot), at);

    const told = (of: string) => conditions.find(({ type }) => type === of)?.message;
    expect([told('Reconciled')?.includes('24.4.1'), told('Drifted')]).toEqual([
      true,
      'Another manager changed fields that are declared here: maximum of node pool general is 9 instead of 3.',
    ]);
  });

  it('waits for the confirmation of its connection', () => {
    const connection = { ...aDesired().connection, phase: 'Unverified' as const, tokenVersion: 2 };

    expect(judge({ ...aDesired(), connection }, absent, at).waiting?.reason).toBe('ConnectionNotReady');
  });
});
