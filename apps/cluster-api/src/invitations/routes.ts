import { type ClusterOperationId, parseInvitationPost } from '@corral/contracts';
import type { RequestHandler, Response } from 'express';
import { personCallerOf, requestContextOf, signedInOf } from '../http/caller.js';
import { bodyOf, idempotencyKeyOf, parsePaging } from '../http/request.js';
import { cursorAt, pageOf, positionOf, requiredId } from '../paging.js';
import { found, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { readTeamNames } from '../teams/store.js';
import {
  acceptInvitation,
  declineInvitation,
  invite,
  type Person,
  renewInvitation,
  revokeInvitation,
  type SentInvitation,
} from './invitations.js';
import { findReceived, listInvitations, listReceived } from './store.js';
import { invitationBody, receivedInvitationBody, sentInvitationBody } from './view.js';

/** The handlers of invitations: those that a team sends, and those that a person received. */
export function invitationRoutes({ prisma, changeTeam, wake }: Services) {
  /** The mail is due in its row, so a lost wake-up costs only time. */
  const sent = ({ team, invitation }: SentInvitation) => {
    wake.mails();
    return invitationBody(team, invitation);
  };
  return {
    async listInvitations(req, res) {
      const { limit, after } = parsePaging(req, 2);
      const { team } = personCallerOf(res);
      const { number } = await readTeamNames(prisma, team.id);
      const page = { limit: limit + 1, after: after && positionOf(after) };
      const { items, next } = pageOf(await listInvitations(prisma, team.id, page), limit, cursorAt);
      res.json({ items: items.map((invitation) => sentInvitationBody({ number }, invitation)), next });
    },

    async createInvitation(req, res) {
      const wish = parseInvitationPost(bodyOf(req));
      const invited = await invite(changeTeam, personCallerOf(res), wish, idempotencyKeyOf(req));
      res.status(201).json(sent(invited));
    },

    async renewInvitation(req, res) {
      const id = requiredId(req.params.id);
      res.json(sent(await renewInvitation(changeTeam, personCallerOf(res), id, idempotencyKeyOf(req))));
    },

    async revokeInvitation(req, res) {
      await revokeInvitation(changeTeam, personCallerOf(res), requiredId(req.params.id));
      res.status(204).end();
    },

    async listReceivedInvitations(req, res) {
      const { limit, after } = parsePaging(req, 2);
      const page = { limit: limit + 1, after: after && positionOf(after) };
      const { items, next } = pageOf(await listReceived(prisma, signedInOf(res).email, page), limit, cursorAt);
      res.json({ items: items.map(receivedInvitationBody), next });
    },

    async getReceivedInvitation(req, res) {
      const { email } = signedInOf(res);
      const invitation = found(await findReceived(prisma, email, requiredId(req.params.id)));
      if (invitation.revokedAt !== null) throw notFound();
      res.json(receivedInvitationBody(invitation));
    },

    async acceptInvitation(req, res) {
      const id = requiredId(req.params.id);
      res.json(receivedInvitationBody(await acceptInvitation(prisma, changeTeam, personOf(res), id)));
    },

    async declineInvitation(req, res) {
      await declineInvitation(prisma, changeTeam, personOf(res), requiredId(req.params.id));
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

function personOf(res: Response): Person {
  const { userId, email } = signedInOf(res);
  return { userId, email, ...requestContextOf(res) };
}
