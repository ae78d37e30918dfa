import { costDifferenceOf, costOf } from '@corral/cluster-data';
import {
  type ClusterOperationId,
  type FieldChange,
  isPoolName,
  type NodePool,
  type NodePoolSpec,
  parseNodePoolPut,
  textRules,
} from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import type { Caller } from '../changes/caller.js';
import { poolTagOf, quoted } from '../changes/entity-tag.js';
import type { SpecChangeOutcome } from '../clusters/change-spec.js';
import { clusterNameOf } from '../clusters/routes.js';
import { poolDifferencesOf, resetToDefault } from '../clusters/rules/specification.js';
import { type ClusterRecord, findCluster, openOperationOf } from '../clusters/store.js';
import { recordSetsLostBy } from '../dns/pointing.js';
import { callerOf } from '../http/caller.js';
import { bodyOf, parsePaging, preconditionsOf, purposeOf } from '../http/request.js';
import { operationUrl } from '../operations/view.js';
import { pageOf } from '../paging.js';
import { badNameInPath, found } from '../problem.js';
import type { Services } from '../services.js';
import { declarePool, removePool } from './change-pool.js';
import { findPool } from './rules.js';
import { nodePoolBody, nodePoolOf } from './view.js';

/** The handlers for node pools. */
export function nodePoolRoutes(services: Services) {
  const { prisma, config } = services;
  const clusterOf = async (req: Request, res: Response): Promise<ClusterRecord> => {
    return found(await findCluster(prisma, callerOf(res).team.id, clusterNameOf(req, 'cluster')));
  };
  const setChangeHeaders = (res: Response, outcome: SpecChangeOutcome, pool: { readonly name: string }): void => {
    res.set('ETag', quoted(poolTagOf(outcome.cluster, pool)));
    const operation = outcome.kind === 'accepted' ? outcome.operation : openOperationOf(outcome.cluster);
    if (operation === null) return;
    const context = { team: callerOf(res).team, publicUrl: config.publicUrl() };
    res.set('Operation-Location', operationUrl(operation, context));
  };
  /** The costs are those of the whole cluster. */
  const dryRunBody = async (
    caller: Caller,
    { cluster, present, effects }: DryRun,
    resource: NodePool,
    changes: readonly FieldChange[],
  ): Promise<object> => {
    const cost = costOf(cluster.spec, cluster.prices);
    const costDifference = costDifferenceOf(present && costOf(present.spec, present.prices), cost);
    const recordSets = await recordSetsLostBy(services, caller, present, effects);
    return { dryRun: true, resource, cost, costDifference, changes, effects, recordSets };
  };

  return {
    /** Sorted by name, because the order in the specification may change between two pages. */
    async listNodePools(req, res) {
      const { limit, after } = parsePaging(req, 1);
      const cluster = await clusterOf(req, res);
      const [last = ''] = after ?? [];
      const pools = cluster.spec.nodePools
        .filter(({ name }) => name > last)
        .sort((one, other) => (one.name < other.name ? -1 : 1));
      const { items, next } = pageOf(pools, limit, ({ name }) => [name]);
      res.json({ items: items.map((pool) => nodePoolBody(nodePoolOf(cluster, pool))), next });
    },

    async getNodePool(req, res) {
      const cluster = await clusterOf(req, res);
      const pool = found(findPool(cluster, req.params.pool as string));
      res.set('ETag', quoted(poolTagOf(cluster, pool))).json(nodePoolBody(nodePoolOf(cluster, pool)));
    },

    async putNodePool(req, res) {
      const { spec } = parseNodePoolPut(bodyOf(req));
      const name = { cluster: clusterNameOf(req, 'cluster'), pool: req.params.pool as string };
      if (!isPoolName(name.pool)) throw badNameInPath('node pool', textRules.poolName);
      const options = { preconditions: preconditionsOf(req), purpose: purposeOf(req) };
      const { outcome, pool, before } = await declarePool(services, callerOf(res), name, spec, options);
      if (outcome.kind === 'dryRun') {
        const resource = nodePoolBody(nodePoolOf(outcome.cluster, pool));
        res.json(await dryRunBody(callerOf(res), outcome, resource, poolDifferencesOf(before, pool, spec)));
        return;
      }
      setChangeHeaders(res, outcome, pool);
      const { team } = callerOf(res);
      if (before === null) res.location(`/api/v1/teams/${team.slug}/clusters/${name.cluster}/node-pools/${name.pool}/`);
      const reset = resetToDefault(poolDifferencesOf(before, pool, spec));
      res.status(before === null ? 201 : 200).json({ ...nodePoolBody(nodePoolOf(outcome.cluster, pool)), ...reset });
    },

    async deleteNodePool(req, res) {
      const name = { cluster: clusterNameOf(req, 'cluster'), pool: req.params.pool as string };
      const options = { preconditions: preconditionsOf(req), purpose: purposeOf(req) };
      const outcome = await removePool(services, callerOf(res), name, options);
      if (outcome.kind === 'dryRun') {
        const present = outcome.present as ClusterRecord; // it has the pool
        const removed = findPool(present, name.pool) as NodePoolSpec;
        const resource = nodePoolBody(nodePoolOf(present, removed));
        res.json(await dryRunBody(callerOf(res), outcome, resource, outcome.changes));
        return;
      }
      setChangeHeaders(res, outcome, { name: name.pool });
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

type DryRun = Extract<SpecChangeOutcome, { kind: 'dryRun' }>;
