import {
  type ClusterOperationId,
  clusterLimits,
  isConnectionRef,
  type JoinCommand,
  parseAdoptedServerPost,
  parseServerId,
} from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import { adoptedServerBody } from '../domain/adopted-server-body.js';
import type { AdoptedServerService, AdoptedServerStore } from '../domain/adopted-servers.js';
import type { JoinCommandService } from '../domain/join-commands.js';
import { operationUrl } from '../domain/operation-body.js';
import { placesOfTeams } from '../http/at-once.js';
import { bodyOf } from '../http/body.js';
import { callerOf } from '../http/caller.js';
import { idempotencyKeyOf } from '../http/idempotency-key.js';
import { notFound } from '../problem.js';

export interface AdoptedServerRoutesDeps {
  readonly servers: AdoptedServerService;
  readonly joinCommands: JoinCommandService;
  readonly store: Pick<AdoptedServerStore, 'findConnection' | 'list' | 'find'>;
  /** Base address of this service, without a slash at its end. */
  readonly publicUrl: () => string;
}

export function adoptedServerRoutes({ servers, joinCommands, store, publicUrl }: AdoptedServerRoutesDeps) {
  const { joinCommandsPerTeamAtOnce: perTeam, joinCommandsPerProcessAtOnce: perProcess } = clusterLimits;
  const issuing = placesOfTeams({ perTeam, perProcess }, 'Join commands being issued');
  const tellOperation = (res: Response, id: string): void => {
    res.set('Operation-Location', operationUrl({ id }, { team: callerOf(res).team, publicUrl: publicUrl() }));
  };
  return {
    /** In the documented shape, an array around the list: there is always one page. */
    async listAdoptedServers(req, res) {
      const caller = callerOf(res);
      const ref = refOf(req);
      if ((await store.findConnection(caller, ref)) === null) throw notFound();
      const items = await store.list(caller, ref);
      res.json([{ items: items.map((server) => adoptedServerBody(caller, server)) }]);
    },

    async getAdoptedServer(req, res) {
      const caller = callerOf(res);
      const server = await store.find(caller, refOf(req), serverIdOf(req));
      if (server === null) throw notFound();
      res.json(adoptedServerBody(caller, server));
    },

    async adoptServer(req, res) {
      const caller = callerOf(res);
      const wish = parseAdoptedServerPost(bodyOf(req));
      const { server, operationId } = await servers.adopt(caller, refOf(req), wish, idempotencyKeyOf(req));
      tellOperation(res, operationId);
      const { connectionRef, spec } = server;
      res.location(`/api/v1/teams/${caller.team.slug}/connections/${connectionRef}/adopted-servers/${spec.serverID}/`);
      res.status(202).json(adoptedServerBody(caller, server));
    },

    async deregisterServer(req, res) {
      const { operationId } = await servers.deregister(callerOf(res), refOf(req), serverIdOf(req));
      tellOperation(res, operationId);
      res.status(204).end();
    },

    async issueJoinCommand(req, res) {
      const caller = callerOf(res);
      const { expiresAt, ...issued } = await issuing(caller.team.id, () =>
        joinCommands.issue(caller, refOf(req), serverIdOf(req)),
      );
      res.set('Cache-Control', 'no-store');
      res.json({ ...issued, expiresAt: expiresAt.toISOString() } satisfies JoinCommand);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** @throws Problem `not_found` for what is no ref: there is no such connection */
function refOf(req: Request): string {
  const ref = req.params.ref as string;
  if (!isConnectionRef(ref)) throw notFound();
  return ref;
}

function serverIdOf(req: Request): number {
  const id = parseServerId(req.params.server_id as string);
  if (id === null) throw notFound();
  return id;
}
