import { equalJson } from '../../kube/object.js';
import type { Kind } from '../kind.js';
import { admitShoot, setShootDefaults } from './defaults.js';
import { judgeShoot, judgeShootDeletion } from './judge.js';
import { shootSchema } from './schema.js';
import { blankStatus, type Shoot, wantsHibernation } from './shoot.js';
import { validateShoot, validateShootUpdate } from './validate.js';

export const shoots: Kind<Shoot> = {
  group: 'core.gardener.cloud',
  version: 'v1beta1',
  kind: 'Shoot',
  plural: 'shoots',
  namespaced: true,
  nameIsLabel: true,
  schema: shootSchema,
  subresources: ['adminkubeconfig', 'viewerkubeconfig'],
  setDefaults: setShootDefaults,
  admit: (shoot, old, context) => admitShoot(shoots, shoot, old, context),
  prepare(shoot, old) {
    shoot.status = old?.status ?? blankStatus();
    if (old === null) shoot.metadata.generation = 1;
    else raiseGeneration(shoot, old);
  },
  validate: (shoot, old) => [...(old === null ? [] : validateShootUpdate(shoot, old)), ...validateShoot(shoot)],
  judge: (shoot, old, context) => judgeShoot(shoots, shoot, old, context),
  judgeDeletion: (shoot) => judgeShootDeletion(shoots, shoot),
};

/**
 * Decides whether a write increments the generation (`pkg/apiserver/registry/core/shoot/strategy.go`). Labels do not
 * count. Annotations count only for the operations `retry` and `reconcile`.
 */
function raiseGeneration(shoot: Shoot, old: Shoot): void {
  const isDeleted = old.metadata.deletionTimestamp === undefined && shoot.metadata.deletionTimestamp !== undefined;
  const isRaised = specCounts(shoot, old) || isDeleted || takeOrder(shoot);
  const { generation = 1 } = old.metadata;
  shoot.metadata.generation = isRaised ? generation + 1 : generation;
}

function specCounts(shoot: Shoot, old: Shoot): boolean {
  if (shoot.spec.maintenance?.confineSpecUpdateRollout === true) {
    return wantsHibernation(shoot.spec) !== wantsHibernation(old.spec);
  }
  return !equalJson(shoot.spec, old.spec);
}

const OPERATION = 'gardener.cloud/operation';

/** Removes an applicable operation: `retry` if Failed, `reconcile` otherwise. @returns whether there was one */
function takeOrder({ metadata, status }: Shoot): boolean {
  if (status.lastOperation === undefined) return false;
  const heeded = status.lastOperation.state === 'Failed' ? 'retry' : 'reconcile';
  if (metadata.annotations?.[OPERATION] !== heeded) return false;
  delete metadata.annotations[OPERATION];
  return true;
}
