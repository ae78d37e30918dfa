import type { NodePoolSpec, NodePoolSpecInput } from '@corral/contracts';
import type { Caller } from '../changes/caller.js';
import { poolTagOf } from '../changes/entity-tag.js';
import { type ChangeOptions, changeSpec, type SpecChangeOutcome } from '../clusters/change-spec.js';
import { refuseWhileDeleting } from '../clusters/rules/declaration.js';
import { completePool } from '../clusters/rules/specification.js';
import type { ClusterRecord } from '../clusters/store.js';
import { invalidField, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { findPool, noPointers, pointersInPool, withoutPool, withPool } from './rules.js';

/* The changes of single node pools. A pool is part of its cluster's specification, so each changes the cluster. */

/** The names of a cluster and one of its pools. */
export interface PoolName {
  readonly cluster: string;
  readonly pool: string;
}

export interface PoolDeclared {
  readonly outcome: SpecChangeOutcome;
  /** The pool after the change, or as a dry run would leave it. */
  readonly pool: NodePoolSpec;
  /** The pool before the change. Null for a new one. */
  readonly before: NodePoolSpec | null;
}

/** Adds the pool or changes it to this specification. */
export async function declarePool(
  services: Services,
  caller: Caller,
  { cluster, pool: name }: PoolName,
  declared: NodePoolSpecInput,
  options: ChangeOptions,
): Promise<PoolDeclared> {
  if (declared.name !== name) throw invalidField('validation_failed', '/spec/name', `must match the path, ${name}`);
  let before: NodePoolSpec | null = null;
  const outcome = await changeSpec(services, caller, {
    ...options,
    name: cluster,
    pointers: pointersInPool,
    declaredPools: [declared],
    action: 'node-pool.declare',
    needsCatalogue: true,
    tagOf: (current) => tagOfPool(current, name),
    desiredOf: (current) => {
      if (current === null) throw notFound();
      before = findPool(current, name);
      return withPool(current.spec, completePool(declared, before, pointersInPool.pool(0)));
    },
  });
  return { outcome, pool: findPool(outcome.cluster, name) as NodePoolSpec, before };
}

export function removePool(
  services: Services,
  caller: Caller,
  { cluster, pool }: PoolName,
  options: ChangeOptions,
): Promise<SpecChangeOutcome> {
  return changeSpec(services, caller, {
    ...options,
    name: cluster,
    pointers: noPointers,
    action: 'node-pool.delete',
    needsCatalogue: false,
    tagOf: (current) => tagOfPool(current, pool),
    desiredOf: (current) => {
      if (current === null || findPool(current, pool) === null) throw notFound();
      refuseWhileDeleting(current);
      return withoutPool(current.spec, pool);
    },
  });
}

const tagOfPool = (cluster: ClusterRecord, name: string): string | null =>
  findPool(cluster, name) === null ? null : poolTagOf(cluster, { name });
