import type { NodePoolSpec, NodePoolSpecInput } from '@corral/contracts';
import { invalidField, notFound } from '../problem.js';
import type { Caller } from './caller.js';
import type { ChangeSpec, SpecChange, SpecChanged } from './change-spec.js';
import type { ClusterRecord } from './cluster-record.js';
import { completePool, withoutPool, withPool } from './complete-spec.js';
import { refuseWhileDeleting } from './decide-declaration.js';
import { poolTagOf } from './entity-tag.js';
import { inPool } from './places.js';

/** Names one pool of one cluster. */
export interface PoolName {
  readonly cluster: string;
  readonly pool: string;
}

export interface PoolDeclared {
  readonly outcome: SpecChanged;
  /** As it is now, or as it would be. */
  readonly pool: NodePoolSpec;
  /** As it was; null when it is new. */
  readonly before: NodePoolSpec | null;
}

export type NodePoolService = ReturnType<typeof nodePoolService>;

/** A pool is part of its cluster's specification: to change one is to change the cluster. */
export function nodePoolService({ changeSpec }: { readonly changeSpec: ChangeSpec }) {
  return {
    /** Adds the pool, or changes it to this specification. */
    async declare(
      caller: Caller,
      { cluster, pool: name }: PoolName,
      declared: NodePoolSpecInput,
      options: Pick<SpecChange, 'preconditions' | 'purpose'>,
    ): Promise<PoolDeclared> {
      if (declared.name !== name) throw invalidField('validation_failed', '/spec/name', `must match the path, ${name}`);
      let before: NodePoolSpec | null = null;
      const outcome = await changeSpec(caller, {
        ...options,
        ...{ name: cluster, places: inPool, action: 'node-pool.declare', needsCatalogue: true },
        tagOf: (current) => poolTagOf(current, { name }),
        desiredOf: (current) => {
          if (current === null) throw notFound();
          before = findPool(current, name);
          return withPool(current.spec, completePool(declared, before, inPool.pool(0)));
        },
      });
      return { outcome, pool: findPool(outcome.cluster, name) as NodePoolSpec, before };
    },

    remove(
      caller: Caller,
      { cluster, pool }: PoolName,
      { preconditions }: Pick<SpecChange, 'preconditions'>,
    ): Promise<SpecChanged> {
      return changeSpec(caller, {
        ...{ name: cluster, preconditions, purpose: 'apply', places: inPool },
        ...{ action: 'node-pool.delete', needsCatalogue: false },
        tagOf: (current) => poolTagOf(current, { name: pool }),
        desiredOf: (current) => {
          if (current === null || findPool(current, pool) === null) throw notFound();
          refuseWhileDeleting(current);
          return withoutPool(current.spec, pool);
        },
      });
    },
  };
}

export function findPool({ spec }: Pick<ClusterRecord, 'spec'>, name: string): NodePoolSpec | null {
  return spec.nodePools.find((pool) => pool.name === name) ?? null;
}
