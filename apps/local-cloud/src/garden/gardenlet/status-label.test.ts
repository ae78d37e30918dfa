import { describe, expect, it } from '@jest/globals';
import type { Condition, OperationState, OperationType, Shoot } from '../kinds/shoot/shoot.js';
import { withStatusLabel } from './status-label.js';

const aShoot = (
  [type, state]: readonly [OperationType, OperationState] | readonly [],
  conditions: readonly Condition['status'][] = [],
  hasErrors = false,
): Shoot =>
  ({
    metadata: {},
    status: {
      ...(type === undefined ? {} : { lastOperation: { type, state } }),
      conditions: conditions.map((status) => ({ status })),
      ...(hasErrors ? { lastErrors: [{}] } : {}),
    },
  }) as unknown as Shoot;

describe('the label that sums a Shoot up', () => {
  it.each<[string, Shoot, string]>([
    ['that nobody has looked at', aShoot([]), 'healthy'],
    ['that is being made', aShoot(['Create', 'Processing']), 'healthy'],
    ['that is being made again after an error', aShoot(['Create', 'Processing'], [], true), 'unhealthy'],
    ['that could not be made', aShoot(['Create', 'Failed'], ['True'], true), 'unhealthy'],
    ['that is being deleted', aShoot(['Delete', 'Processing'], ['False']), 'healthy'],
    ['that was made and is not yet checked', aShoot(['Create', 'Succeeded'], ['Progressing', 'True']), 'progressing'],
    ['that is well', aShoot(['Reconcile', 'Succeeded'], ['True', 'True']), 'healthy'],
    ['of which something is not known', aShoot(['Reconcile', 'Succeeded'], ['Unknown', 'Progressing']), 'unknown'],
    ['of which something is down', aShoot(['Reconcile', 'Succeeded'], ['True', 'False']), 'unhealthy'],
    ['that works while it is being changed', aShoot(['Reconcile', 'Processing'], ['True']), 'healthy'],
    ['that works but could not be changed', aShoot(['Reconcile', 'Error'], ['True'], true), 'unhealthy'],
  ])('of one %s', (_case, shoot, label) => {
    expect(withStatusLabel(shoot).metadata.labels).toEqual({ 'shoot.gardener.cloud/status': label });
  });
});
