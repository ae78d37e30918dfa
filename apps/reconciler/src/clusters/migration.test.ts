import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired } from '../../test/support/a-cluster.js';
import { migrationOf } from './migration.js';
import { factsOf } from './shoot-facts.js';

type Row = [
  step: string,
  wished: string | undefined,
  actual: string | null,
  type: string,
  state: string,
  phase: string | null,
];

describe('a control plane that moves', () => {
  it.each<Row>([
    ['is steady', 'a', 'a', 'Reconcile', 'Succeeded', null],
    ['is to move', 'b', 'a', 'Reconcile', 'Succeeded', 'Preparing'],
    ['is to move while a run is under way', 'b', 'a', 'Reconcile', 'Processing', 'Preparing'],
    ['leaves', 'b', 'a', 'Migrate', 'Processing', 'Migrating'],
    ['cannot leave', 'b', 'a', 'Migrate', 'Error', 'Migrating'],
    ['is between the seeds', 'b', null, 'Migrate', 'Succeeded', 'Restoring'],
    ['arrives', 'b', 'b', 'Restore', 'Processing', 'Restoring'],
    ['cannot arrive', 'b', 'b', 'Restore', 'Failed', 'Restoring'],
    ['has arrived', 'b', 'b', 'Restore', 'Succeeded', null],
    ['moves while it works', 'b', 'a', 'LiveMigrate', 'Processing', 'Migrating'],
    ['has moved while it worked', 'b', 'b', 'LiveMigrate', 'Succeeded', null],
    ['has no seed yet', undefined, null, 'Create', 'Pending', null],
    ['was given its first seed', 'a', null, 'Create', 'Pending', null],
  ])('%s', (_, wished, actual, type, state, phase) => {
    const shoot = aShoot(aSteadyDesired(), {
      spec: { seedName: wished },
      seedName: actual,
      lastOperation: { type, state },
    });

    expect(migrationOf(factsOf(shoot))).toBe(phase);
  });

  it('is on its way also when the last operation is not told, as long as the garden says that it moves', () => {
    const shoot = aShoot(aSteadyDesired(), {
      ...{ spec: { seedName: 'b' }, seedName: null, lastOperation: null },
      migrationStartTime: '2026-11-21T12:00:00Z',
    });

    expect(migrationOf(factsOf(shoot))).toBe('Restoring');
  });
});
