import { type ClusterOperationId, parseInvitationPost } from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import { bodyOf } from '../http/body.js';
import { personCallerOf, requestContextOf, signedInOf } from '../http/caller.js';
import { idempotencyKeyOf } from '../http/headers.js';
import { parsePaging } from '../http/query.js';
import { cursorAt, pageOf, parseId, positionOf } from '../paging.js';
import { notFound } from '../problem.js';
import { invitationBody, receivedInvitationBody, sentInvitationBody } from '../teams/body.js';
import type { TeamStore } from '../teams/transaction.js';
import type { InvitationService, Person } from './invitations.js';

export interface InvitationRoutesDeps {
  readonly invitations: InvitationService;
  readonly store: Pick<TeamStore, 'find' | 'listInvitations' | 'listReceived' | 'findReceived'>;
}

export function invitationRoutes({ invitations, store }: InvitationRoutesDeps) {
  return {
    async listInvitations(req, res) {
      const { limit, after } = parsePaging(req, 2);
      const { team } = personCallerOf(res);
      const { number } = await store.find(team);
      const rows = await store.listInvitations(team, { limit: limit + 1, after: after && positionOf(after) });
      const { items, next } = pageOf(rows, limit, cursorAt);
      res.json({ items: items.map((invitation) => sentInvitationBody({ number }, invitation)), next });
    },

    async createInvitation(req, res) {
      const caller = personCallerOf(res);
      const wish = parseInvitationPost(bodyOf(req));
      const { team, invitation } = await invitations.invite(caller, wish, idempotencyKeyOf(req));
      res.status(201).json(invitationBody(team, invitation));
    },

    async renewInvitation(req, res) {
      const { team, invitation } = await invitations.renew(
        personCallerOf(res),
        invitationIdOf(req),
        idempotencyKeyOf(req),
      );
      res.json(invitationBody(team, invitation));
    },

    async revokeInvitation(req, res) {
      await invitations.revoke(personCallerOf(res), invitationIdOf(req));
      res.status(204).end();
    },

    async listReceivedInvitations(req, res) {
      const { limit, after } = parsePaging(req, 2);
      const { email } = personOf(res);
      const rows = await store.listReceived(email, { limit: limit + 1, after: after && positionOf(after) });
      const { items, next } = pageOf(rows, limit, cursorAt);
      res.json({ items: items.map(receivedInvitationBody), next });
    },

    async getReceivedInvitation(req, res) {
      const invitation = await store.findReceived(personOf(res).email, invitationIdOf(req));
      if (invitation === null) throw notFound();
      res.json(receivedInvitationBody(invitation));
    },

    async acceptInvitation(req, res) {
      res.json(receivedInvitationBody(await invitations.accept(personOf(res), invitationIdOf(req))));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

function personOf(res: Response): Person {
  const { userId, email } = signedInOf(res);
  return { userId, email, ...requestContextOf(res) };
}

/** @throws Problem `not_found` for an invalid id: no invitation can have it */
function invitationIdOf(req: Request): string {
  const id = parseId(req.params.id as string);
  if (id === null) throw notFound();
  return id;
}
