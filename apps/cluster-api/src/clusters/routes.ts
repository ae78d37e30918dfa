import { costDifferenceOf, costOf } from '@corral/cluster-data';
import { type ClusterOperationId, type ClusterPhase, isClusterName, textRules } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { clustersOf } from '../changes/caller.js';
import { entityTagOf } from '../changes/entity-tag.js';
import { recordSetsLostBy } from '../dns/pointing.js';
import { callerOf } from '../http/caller.js';
import {
  announceOperation,
  bodyOf,
  checkNamed,
  idempotencyKeyOf,
  parsePaging,
  preconditionsOf,
  purposeOf,
  sendTagged,
} from '../http/request.js';
import { operationBody, operationUrl } from '../operations/view.js';
import { pageOf } from '../paging.js';
import { badNameInPath, found, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { declareCluster, type SpecChangeOutcome, setHibernated } from './change-spec.js';
import { deleteCluster, deletionPreview } from './delete.js';
import { retryCluster } from './retry.js';
import { resetToDefault } from './rules/specification.js';
import { findCluster, listClusters, openOperationOf } from './store.js';
import { clusterBody } from './view.js';

/** The handlers for clusters. */
export function clusterRoutes(services: Services) {
  const { prisma, config } = services;
  const sendAccepted = (res: Response, { cluster, operation, changes }: Accepted): void => {
    const { team } = callerOf(res);
    const context = { team, publicUrl: config.publicUrl() };
    const resource = clusterBody(cluster, team);
    announceOperation(res, operation, context);
    // The first generation of a cluster is its creation.
    if (cluster.generation === 1) res.location(`/api/v1/teams/${team.slug}/clusters/${cluster.name}/`);
    res.set('ETag', resource.metadata.etag);
    res.status(202).json({ operation: operationBody(operation, context), resource, ...resetToDefault(changes) });
  };
  /** 202 with the operation to poll, or 200 with the cluster when nothing changes or for a dry run. */
  const sendOutcome = async (res: Response, outcome: SpecChangeOutcome): Promise<void> => {
    if (outcome.kind === 'accepted') {
      sendAccepted(res, outcome);
      return;
    }
    const resource = clusterBody(outcome.cluster, callerOf(res).team);
    if (outcome.kind === 'dryRun') {
      const { cost } = resource.status;
      const { present, changes, effects } = outcome;
      const costDifference = costDifferenceOf(present && costOf(present.spec, present.prices), cost);
      const recordSets = await recordSetsLostBy(services, callerOf(res), present, effects);
      res.json({ dryRun: true, resource, cost, costDifference, changes, effects, recordSets });
    } else {
      const open = openOperationOf(outcome.cluster);
      if (open !== null) {
        res.set('Operation-Location', operationUrl(open, { team: callerOf(res).team, publicUrl: config.publicUrl() }));
      }
      res.set('ETag', resource.metadata.etag).json(resource);
    }
  };

  return {
    async listClusters(req, res) {
      const caller = callerOf(res);
      const { team } = caller;
      const { limit, after } = parsePaging(req, 1);
      const query = queryOf(req);
      const rows = await listClusters(prisma, team.id, {
        limit: limit + 1,
        after: after?.[0] ?? null,
        phases: query.getAll('phase') as ClusterPhase[],
        connection: query.get('connection'),
        within: clustersOf(caller),
      });
      const { items, next } = pageOf(rows, limit, ({ name }) => [name]);
      res.json({ items: items.map((cluster) => clusterBody(cluster, team)), next });
    },

    async getCluster(req, res) {
      const { team } = callerOf(res);
      const cluster = found(await findCluster(prisma, team.id, clusterNameOf(req)));
      sendTagged(req, res, entityTagOf(cluster), clusterBody(cluster, team));
    },

    async putCluster(req, res) {
      const body = bodyOf(req) as { readonly metadata?: { readonly name?: unknown } | null };
      const name = req.params.name as string;
      if (!isClusterName(name)) throw badNameInPath('cluster', textRules.name);
      checkNamed('name', body.metadata?.name, name);
      const options = { preconditions: preconditionsOf(req), purpose: purposeOf(req) };
      await sendOutcome(res, await declareCluster(services, callerOf(res), name, body, options));
    },

    async deleteCluster(req, res) {
      const caller = callerOf(res);
      const options = { preconditions: preconditionsOf(req), purpose: purposeOf(req) };
      const removed = await deleteCluster(services, caller, clusterNameOf(req), options);
      if (removed.kind === 'removed') res.status(204).end();
      else if (removed.kind === 'accepted') sendAccepted(res, removed);
      else {
        const resource = clusterBody(removed.cluster, caller.team);
        const costDifference = costDifferenceOf(resource.status.cost, null);
        const { cluster, effects } = removed;
        const recordSets = await recordSetsLostBy(services, caller, cluster, effects);
        res.json({ dryRun: true, resource, costDifference, deletes: deletionPreview(cluster), effects, recordSets });
      }
    },

    async hibernateCluster(req, res) {
      await sendOutcome(
        res,
        await setHibernated(services, callerOf(res), clusterNameOf(req), true, hibernationOf(req)),
      );
    },

    async resumeCluster(req, res) {
      await sendOutcome(
        res,
        await setHibernated(services, callerOf(res), clusterNameOf(req), false, hibernationOf(req)),
      );
    },

    async retryCluster(req, res) {
      await sendOutcome(res, await retryCluster(services, callerOf(res), clusterNameOf(req), keyedOptionsOf(req)));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

type Accepted = Extract<SpecChangeOutcome, { kind: 'accepted' }>;

/** @throws Problem `not_found` for an invalid name: no cluster can have it */
export function clusterNameOf(req: Request, parameter = 'name'): string {
  const name = req.params[parameter] as string;
  if (!isClusterName(name)) throw notFound();
  return name;
}

/** A dry run begins nothing that a repeated request could have to find. */
function hibernationOf(req: Request) {
  const { preconditions, keyed } = keyedOptionsOf(req);
  const purpose = purposeOf(req);
  return { preconditions, purpose, keyed: purpose === 'dryRun' ? null : keyed };
}

const keyedOptionsOf = (req: Request) => ({ preconditions: preconditionsOf(req), keyed: idempotencyKeyOf(req) });
