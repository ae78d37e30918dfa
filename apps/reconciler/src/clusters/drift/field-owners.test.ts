import type { FieldManager, Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import {
  aDesired,
  aManager,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  ourHold,
  settings,
} from '../../../test/support/a-cluster.js';
import type { Desired } from '../model.js';
import { renderShoot } from '../render.js';
import { arbitrate, leftovers, outdatedAdditions, withoutFields } from './field-owners.js';

const worker = (fields: object) => ({
  'f:spec': { 'f:provider': { 'f:workers': { 'k:{"name":"p1a2b3"}': fields } } },
});
const MAXIMUM = '.spec.provider.workers[name="p1a2b3"].maximum';
const desired = aDesired({ declaredAt: minutesLater(10) });
const readWith = (
  manager: string,
  fields: Record<string, unknown>,
  time: Date,
  at: Date | null = minutesLater(20),
) => ({
  shoot: aShoot(aSteadyDesired(), { managers: [aManager(manager, fields, time)] }),
  at,
});
const conflictsOn = (...paths: string[]) => paths.map((field) => ({ field, manager: null }));

describe('a field that another manager changed', () => {
  const scaledAt = (time: Date, at?: Date | null) => readWith('kubectl-edit', worker({ 'f:maximum': {} }), time, at);

  it('before the declaration is taken over, and reported by its API name with its manager', () => {
    expect(arbitrate(desired, scaledAt(minutesLater(9)), conflictsOn(MAXIMUM), minutesLater(20))).toEqual({
      overridden: [{ field: 'maximum of node pool general', manager: 'kubectl-edit' }],
      kept: [],
    });
  });

  it('after the declaration is kept', () => {
    expect(arbitrate(desired, scaledAt(minutesLater(11)), conflictsOn(MAXIMUM), minutesLater(20))).toEqual({
      overridden: [],
      kept: [MAXIMUM],
    });
  });

  it('is compared by the garden’s clock, even with a large clock skew', () => {
    const hourBehind = (minutes: number) => minutesLater(minutes - 60);

    const before = arbitrate(desired, scaledAt(hourBehind(9), hourBehind(20)), conflictsOn(MAXIMUM), minutesLater(20));
    const after = arbitrate(desired, scaledAt(hourBehind(11), hourBehind(20)), conflictsOn(MAXIMUM), minutesLater(20));

    expect([before.kept, after.kept]).toEqual([[], [MAXIMUM]]);
  });

  it('is kept when the time of the declaration is unknown', () => {
    const forgotten = { ...desired, declaredAt: null };

    expect(arbitrate(forgotten, scaledAt(noon), conflictsOn(MAXIMUM), noon).kept).toEqual([MAXIMUM]);
  });

  it.each([
    [
      'an annotation',
      '.metadata.annotations.corral.dev/plan',
      { 'f:metadata': { 'f:annotations': { 'f:corral.dev/plan': {} } } },
    ],
    [
      'a label of a pool',
      '.spec.provider.workers[name="p1a2b3"].labels.corral.dev/pool',
      worker({ 'f:labels': { 'f:corral.dev/pool': {} } }),
    ],
  ])('is always reverted when it is %s of Corral', (_, path, fields) => {
    const { overridden, kept } = arbitrate(
      desired,
      readWith('kubectl', fields, minutesLater(15)),
      conflictsOn(path),
      minutesLater(20),
    );

    expect([overridden.length, kept]).toEqual([1, []]);
  });

  it('is neither taken over nor kept when no manager owns it', () => {
    const unowned = readWith('before-first-apply', worker({ 'f:maximum': {} }), minutesLater(15));

    expect(arbitrate(desired, unowned, conflictsOn(MAXIMUM), minutesLater(20))).toEqual({ overridden: [], kept: [] });
  });

  it('shows only printable characters of a manager’s name, at most 64', () => {
    const odd = readWith(`a\u202eb\n${'x'.repeat(99)}`, worker({ 'f:maximum': {} }), noon);

    const [{ manager } = { manager: '' }] = arbitrate(desired, odd, conflictsOn(MAXIMUM), noon).overridden;

    expect(manager).toMatch(/^a\?b\?x+…$/);
    expect(manager.length).toBe(64);
  });
});

describe('a manifest with fields removed', () => {
  it('lacks exactly these fields', () => {
    const manifest = renderShoot(desired, settings);
    const reduced = withoutFields(manifest, [MAXIMUM, '.spec.hibernation.enabled', '.spec.nothing.there']);

    const [pool] = (reduced.spec.provider as { workers: Record<string, unknown>[] }).workers;
    const [whole] = (manifest.spec.provider as { workers: Record<string, unknown>[] }).workers;
    const { maximum: _, ...rest } = whole as Record<string, unknown>;
    expect(pool).toEqual(rest);
    expect(reduced.spec.hibernation).toEqual({});
    expect(reduced.metadata).toEqual(manifest.metadata);
    expect(manifest.spec.hibernation).toEqual({ enabled: false });
  });
});

describe('a pool that is no longer declared', () => {
  const second = aPool({ name: 'more', workerName: 'p2' });
  const both = aSteadyDesired({ pools: [aPool(), second] });
  const holdOf = (name: string) => ({
    'f:spec': { 'f:provider': { 'f:workers': { [`k:{"name":"${name}"}`]: { 'f:maximum': {} } } } },
  });

  it('is removed explicitly when another manager owns a field in it', () => {
    const shoot = aShoot(both, { managers: [ourHold, aManager('kubectl', holdOf('p2'))] });

    const found = leftovers({ shoot }, ['p1a2b3']);

    expect(found?.removed).toEqual([{ field: 'node pool more', manager: 'kubectl' }]);
    expect(found?.workers).toEqual([expect.objectContaining({ name: 'p1a2b3' })]);
  });

  it.each([
    ['the owned fields are unknown', []],
    ['it existed before the first apply', [ourHold, aManager('before-first-apply', holdOf('p2'))]],
  ])('is removed explicitly after a restore when %s', (_, managers) => {
    expect(leftovers({ shoot: aShoot(both, { managers }) }, ['p1a2b3'])).toEqual({
      workers: [expect.objectContaining({ name: 'p1a2b3' })],
      removed: [],
    });
  });

  it('is removed by the apply when Corral owns all of it, and kept when it never did', () => {
    const theirs = { provider: { workers: [{ name: 'p2', maximum: 3 }] } };

    expect(leftovers({ shoot: aShoot(both) }, ['p1a2b3'])).toBeNull();
    expect(
      leftovers({ shoot: aShoot(both, { spec: theirs, managers: [aManager('kubectl', holdOf('p2'))] }) }, []),
    ).toBeNull();
  });
});

describe('a pool that another manager added', () => {
  const theirs = { name: 'batch', maximum: 3 };
  const fields = { 'f:spec': { 'f:provider': { 'f:workers': { 'k:{"name":"batch"}': { '.': {}, 'f:name': {} } } } } };
  const steady = aSteadyDesired();
  const [ours] = (aShoot(steady).spec.provider as { workers: object[] }).workers;
  const withPool = (managers: FieldManager[], pool: object = theirs) =>
    aShoot(steady, { spec: { provider: { workers: [ours, pool] } }, managers: [ourHold, ...managers] });
  const addedAt = (time: Date) => withPool([aManager('kubectl-edit', fields, time)]);
  const outdated = (shoot: Shoot, more: Partial<Desired> = {}, at: Date | null = minutesLater(20)) =>
    outdatedAdditions({ ...steady, ...more }, { shoot, at }, ['p1a2b3'], minutesLater(20));
  const declared = { generation: 2, declaredAt: minutesLater(10), poolsDeclaredAt: minutesLater(10) };

  it('is removed when it is older than the pool declaration, and kept when newer', () => {
    expect(outdated(addedAt(minutesLater(9)), declared)).toEqual(['batch']);
    expect(outdated(addedAt(minutesLater(11)), declared)).toEqual([]);
  });

  it('is compared by the garden’s clock', () => {
    const ahead = (minutes: number) => minutesLater(minutes + 60);

    expect(outdated(addedAt(ahead(9)), declared, ahead(20))).toEqual(['batch']);
    expect(outdated(addedAt(ahead(11)), declared, ahead(20))).toEqual([]);
  });

  it('is kept when the declaration only hibernates or resumes the cluster', () => {
    const sleeping = { ...declared, poolsDeclaredAt: noon };

    expect(outdated(addedAt(minutesLater(9)), sleeping)).toEqual([]);
  });

  it('by an unknown manager is removed only with a new declaration of pools', () => {
    const forgotten = withPool([]);

    expect(outdated(forgotten, declared)).toEqual(['batch']);
    expect(outdated(forgotten, { ...declared, poolsDeclaredAt: noon })).toEqual([]);
    expect(outdated(forgotten)).toEqual([]);
  });

  it('is removed with an audit entry, and only when it is outdated', () => {
    const shoot = addedAt(noon);

    expect(leftovers({ shoot }, ['p1a2b3'], ['batch'])).toEqual({
      workers: [ours],
      removed: [{ field: 'node pool batch', manager: 'kubectl-edit' }],
    });
    expect(leftovers({ shoot: withPool([]) }, ['p1a2b3'], ['batch'])?.removed).toEqual([
      { field: 'node pool batch', manager: 'unknown' },
    ]);
    expect(leftovers({ shoot }, ['p1a2b3'])).toBeNull();
  });

  it('counts as foreign even when it copies a pool of Corral including the label', () => {
    const copy = withPool([aManager('kubectl-edit', fields, minutesLater(11))], {
      ...ours,
      name: 'batch',
    });

    expect(outdated(copy, declared)).toEqual([]);
    expect(leftovers({ shoot: copy }, ['p1a2b3'])).toBeNull();
  });
});
