import {
  type ClusterOperationId,
  clusterLimits,
  isConnectionRef,
  type JoinCommand,
  type OperationId,
  type ProjectServer,
  parseAdoptedServerPost,
  parseNumber,
} from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import { recordSetsOfServer } from '../dns/pointing.js';
import { callerOf } from '../http/caller.js';
import { teamConcurrencyLimit } from '../http/limits.js';
import { announceOperation, bodyOf, idempotencyKeyOf, purposeOf } from '../http/request.js';
import { operationUrl } from '../operations/view.js';
import { found, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { adoptServer, type LookedUpServer, lookUpServer, lookUpServers } from './adopt.js';
import { deregisterServer, previewDeregistration } from './deregister.js';
import { issueJoinCommand } from './join-command.js';
import { findServer, listServers, serverConnectionOf } from './store.js';
import { adoptedServerBody } from './view.js';

/** The handlers for servers that teams adopt over their connections. */
export function serverRoutes(services: Services) {
  const { prisma, config } = services;
  const { joinCommandsPerTeamAtOnce: perTeam, joinCommandsPerProcessAtOnce: perProcess } = clusterLimits;
  const issuing = teamConcurrencyLimit({ perTeam, perProcess }, 'Join commands being issued');
  const tellOperation = (res: Response, id: OperationId): void => {
    res.set('Operation-Location', operationUrl({ id }, { team: callerOf(res).team, publicUrl: config.publicUrl() }));
  };
  return {
    /** The documented shape is an array with one page, which contains all items. */
    async listAdoptedServers(req, res) {
      const caller = callerOf(res);
      const ref = refOf(req);
      await serverConnectionOf(prisma, caller, ref);
      const items = await listServers(prisma, caller, ref);
      res.json([{ items: items.map((server) => adoptedServerBody(caller, server)) }]);
    },

    async getAdoptedServer(req, res) {
      const caller = callerOf(res);
      const server = found(await findServer(prisma, caller, refOf(req), serverIdOf(req)));
      res.json(adoptedServerBody(caller, server));
    },

    async getProjectServer(req, res) {
      res.json(projectServerBody(await lookUpServer(services, callerOf(res), refOf(req), serverIdOf(req))));
    },

    async listProjectServers(req, res) {
      const items = (await lookUpServers(services, callerOf(res), refOf(req))).map(projectServerBody);
      res.json({ items });
    },

    async adoptServer(req, res) {
      const caller = callerOf(res);
      const wish = parseAdoptedServerPost(bodyOf(req));
      const { server, operationId } = await adoptServer(services, caller, refOf(req), wish, idempotencyKeyOf(req));
      const context = { team: caller.team, publicUrl: config.publicUrl() };
      announceOperation(res, { id: operationId, kind: 'server.adopt', state: 'queued', waiting: null }, context);
      const { connectionRef, spec } = server;
      res.location(`/api/v1/teams/${caller.team.slug}/connections/${connectionRef}/adopted-servers/${spec.serverID}/`);
      res.status(202).json(adoptedServerBody(caller, server));
    },

    async deregisterServer(req, res) {
      const [caller, ref, serverId] = [callerOf(res), refOf(req), serverIdOf(req)];
      if (purposeOf(req) === 'dryRun') {
        const server = await previewDeregistration(services, caller, ref, serverId);
        const recordSets = await recordSetsOfServer(services, caller, server);
        res.json({ dryRun: true, resource: adoptedServerBody(caller, server), recordSets });
        return;
      }
      tellOperation(res, await deregisterServer(services, caller, ref, serverId));
      res.status(204).end();
    },

    async issueJoinCommand(req, res) {
      const caller = callerOf(res);
      const { expiresAt, ...issued } = await issuing(caller.team.id, () =>
        issueJoinCommand(services, caller, refOf(req), serverIdOf(req)),
      );
      res.set('Cache-Control', 'no-store');
      res.json({ ...issued, expiresAt: expiresAt.toISOString() } satisfies JoinCommand);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

function projectServerBody({ found, obstacle }: LookedUpServer): ProjectServer {
  const { id: serverID, name, serverType, location, architecture, status: state } = found;
  return { serverID, name, serverType, location, architecture, state, adoptable: obstacle === null, reason: obstacle };
}

/** @throws Problem `not_found` for an invalid ref: no connection can have it */
function refOf(req: Request): string {
  const ref = req.params.ref as string;
  if (!isConnectionRef(ref)) throw notFound();
  return ref;
}

const serverIdOf = (req: Request): number => found(parseNumber(req.params.server_id as string));
