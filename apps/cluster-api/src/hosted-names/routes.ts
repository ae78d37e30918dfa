import { type ClusterOperationId, isHostedName, parseHostedNamePost } from '@corral/contracts';
import { readClock } from '@corral/database';
import type { Request, RequestHandler } from 'express';
import { clusterNameOf } from '../clusters/routes.js';
import { findCluster } from '../clusters/store.js';
import { callerOf, personCallerOf } from '../http/caller.js';
import { bodyOf, purposeOf } from '../http/request.js';
import { found, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { addHostedName, planHostedName, removeHostedName } from './names.js';
import { findHostedName, listHostedNames } from './store.js';
import { hostedNameBody, type NamePlace } from './view.js';

/** The handlers of names on clusters. Without the address of the DNS API for clients there are none. */
export function hostedNameRoutes(services: Services) {
  const { config, prisma } = services;
  const place = (): NamePlace => found(config.dnsApi);
  return {
    async listHostedNames(req, res) {
      const { team } = callerOf(res);
      const cluster = found(await findCluster(prisma, team.id, clusterNameOf(req, 'cluster')));
      const names = await listHostedNames(prisma, team.id, cluster.name);
      res.json({ items: names.map((each) => hostedNameBody(each, place())) });
    },

    async getHostedName(req, res) {
      const [{ team }, { cluster, name }] = [callerOf(res), namedIn(req)];
      res.json(hostedNameBody(found(await findHostedName(prisma, team.id, cluster, name)), place()));
    },

    async addHostedName(req, res) {
      const [caller, cluster] = [personCallerOf(res), clusterNameOf(req, 'cluster')];
      const wanted = { cluster, ...parseHostedNamePost(bodyOf(req)) };
      const at = place();
      if (purposeOf(req) === 'dryRun') {
        const planned = await planHostedName(services, caller, wanted, await readClock(prisma));
        res.json({ dryRun: true, resource: hostedNameBody(planned, at) });
        return;
      }
      const added = await addHostedName(services, caller, wanted);
      res.status(201).location(`/api/v1/teams/${caller.team.slug}/clusters/${cluster}/names/${added.name}/`);
      res.json(hostedNameBody(added, at));
    },

    async removeHostedName(req, res) {
      const removed = await removeHostedName(services, personCallerOf(res), namedIn(req));
      res.status(202).json(hostedNameBody(removed, place()));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** @throws Problem `not_found` for an invalid name: none can have it */
function namedIn(req: Request): { readonly cluster: string; readonly name: string } {
  const name = req.params.host as string;
  if (!isHostedName(name)) throw notFound();
  return { cluster: clusterNameOf(req, 'cluster'), name };
}
