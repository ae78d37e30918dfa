import type { MigrationPhase } from '@corral/contracts';
import type { ShootFacts } from './shoot-facts.js';

/**
 * Where the move of a control plane to another seed stands; null while there is none. The garden refuses changes and the
 * deletion of a Shoot from `Migrating` on (gardener: docs/operations/control_plane_migration.md, plugin/pkg/shoot/validator).
 */
export function migrationOf({ seed, lastOperation, isMoving }: ShootFacts): MigrationPhase | null {
  if (lastOperation?.type === 'Migrate' || lastOperation?.type === 'LiveMigrate') {
    if (lastOperation.state !== 'Succeeded') return 'Migrating';
    return seed.actual === seed.wished && lastOperation.type === 'LiveMigrate' ? null : 'Restoring';
  }
  if (lastOperation?.type === 'Restore' && lastOperation.state !== 'Succeeded') return 'Restoring';
  if (seed.wished === null || seed.wished === seed.actual) return null;
  // A new Shoot has no seed behind it: there is nothing to move.
  if (seed.actual === null) return isMoving ? 'Restoring' : null;
  return 'Preparing';
}
