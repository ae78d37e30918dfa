import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired } from '../../../test/support/a-cluster.js';
import { factsOf } from '../observe.js';
import { migrationOf } from './phase.js';

type Row = [
  step: string,
  desired: string | undefined,
  actual: string | null,
  type: string,
  state: string,
  phase: string | null,
];

describe('the migration phase of a control plane that', () => {
  it.each<Row>([
    ['is steady', 'a', 'a', 'Reconcile', 'Succeeded', null],
    ['is about to migrate', 'b', 'a', 'Reconcile', 'Succeeded', 'Preparing'],
    ['is about to migrate during a run', 'b', 'a', 'Reconcile', 'Processing', 'Preparing'],
    ['is leaving its seed', 'b', 'a', 'Migrate', 'Processing', 'Migrating'],
    ['fails to leave its seed', 'b', 'a', 'Migrate', 'Error', 'Migrating'],
    ['is between two seeds', 'b', null, 'Migrate', 'Succeeded', 'Restoring'],
    ['is restored on the new seed', 'b', 'b', 'Restore', 'Processing', 'Restoring'],
    ['fails to be restored', 'b', 'b', 'Restore', 'Failed', 'Restoring'],
    ['was restored', 'b', 'b', 'Restore', 'Succeeded', null],
    ['is live migrating', 'b', 'a', 'LiveMigrate', 'Processing', 'Migrating'],
    ['was live migrated', 'b', 'b', 'LiveMigrate', 'Succeeded', null],
    ['has no seed yet', undefined, null, 'Create', 'Pending', null],
    ['was given its first seed', 'a', null, 'Create', 'Pending', null],
  ])('%s', (_, desired, actual, type, state, phase) => {
    const shoot = aShoot(aSteadyDesired(), {
      spec: { seedName: desired },
      seedName: actual,
      lastOperation: { type, state },
    });

    expect(migrationOf(factsOf(shoot))).toBe(phase);
  });

  it('has no last operation is Restoring while the garden reports a migration start', () => {
    const shoot = aShoot(aSteadyDesired(), {
      spec: { seedName: 'b' },
      seedName: null,
      lastOperation: null,
      migrationStartTime: '2026-11-21T12:00:00Z',
    });

    expect(migrationOf(factsOf(shoot))).toBe('Restoring');
  });
});
