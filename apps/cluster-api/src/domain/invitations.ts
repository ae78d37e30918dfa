import { type InvitationWish, normalEmail } from '@corral/contracts';
import { notFound } from '../problem.js';
import type { Asking, Caller } from './caller.js';
import {
  checkInvitedTeam,
  checkRenewal,
  decideAcceptance,
  decideInvitation,
  expiryFrom,
  type InvitationContext,
  MAIL_WINDOW_MS,
} from './invitation-rules.js';
import type { KeyedRequest } from './keyed-request.js';
import { requireAdmin } from './member-rules.js';
import type { InvitationRecord, ReceivedInvitation, TeamIdentity } from './team-record.js';
import type { TeamStore, TeamTransaction } from './team-transaction.js';

/** Somebody who is signed in, in whatever team. */
export interface Person extends Asking {
  readonly userId: string;
  /** As the sign-in proved it, in lower case. */
  readonly email: string;
}

export interface SentInvitation {
  readonly team: TeamIdentity;
  readonly invitation: InvitationRecord;
}

export interface InvitationServiceDeps {
  readonly store: Pick<TeamStore, 'change' | 'findReceived'>;
  /** Hints that a mail is due. Never rejects: the row says so, and the schedule finds it. */
  readonly wakeMail: () => Promise<void>;
  readonly newId: () => string;
}

export type InvitationService = ReturnType<typeof invitationService>;

/** What becomes of invitations. Each change is one transaction; the row is the outbox of its mail. */
export const invitationService = ({ store, wakeMail, newId }: InvitationServiceDeps) => {
  const changeAndMail = async (
    caller: Caller,
    work: (tx: TeamTransaction) => Promise<InvitationRecord>,
  ): Promise<SentInvitation> => {
    const sent = await store.change(caller, async (tx) => {
      requireAdmin(tx.members, caller.userId);
      return { team: tx.team, invitation: await work(tx) };
    });
    await wakeMail();
    return sent;
  };
  return {
    /** @throws Problem `already_member`, `quota_exceeded`, `rate_limit_exceeded`, `validation_failed` */
    invite: (caller: Caller, wish: InvitationWish, request: KeyedRequest | null): Promise<SentInvitation> =>
      changeAndMail(caller, (tx) => inviteOnce(tx, wish, request, newId())),

    /** @throws Problem `not_found`, `quota_exceeded`, `rate_limit_exceeded` */
    renew: (caller: Caller, id: string, request: KeyedRequest | null): Promise<SentInvitation> =>
      changeAndMail(caller, async (tx) => {
        const present = await tx.findInvitation({ id });
        if (present === null) throw notFound();
        if ((await tx.claimKey(request, id)) !== null) return present;
        checkRenewal(present, present.email, await contextOf(tx));
        return renew(tx, present, present.role);
      }),

    /**
     * Takes an invitation back. One that is revoked already is as it was asked for.
     *
     * @throws Problem `not_found` for one that was accepted, too: there is a member to remove then
     */
    revoke: (caller: Caller, id: string): Promise<void> =>
      store.change(caller, async (tx) => {
        requireAdmin(tx.members, caller.userId);
        const present = await tx.findInvitation({ id });
        if (present === null || present.acceptedAt !== null) throw notFound();
        if (present.revokedAt !== null) return;
        await tx.revokeInvitation(id);
        await tx.audit('invitation.revoke', invitationTarget(present), { role: present.role });
      }),

    /** @throws Problem `not_found`, `invitation_expired` */
    async accept({ email, ...person }: Person, id: string): Promise<ReceivedInvitation> {
      const received = await store.findReceived(email, id);
      if (received === null) throw notFound();
      const { team } = received;
      return store.change({ ...person, team }, async (tx) => {
        const invitation = await tx.findInvitation({ id });
        if (invitation === null) throw notFound();
        const present = tx.members.find((member) => member.userId === person.userId);
        const decision = decideAcceptance(invitation, present?.role ?? null, tx.now);
        if (decision.kind === 'unchanged') return { ...invitation, team: tx.team };
        const { role } = decision;
        if (present === undefined) await tx.addMember(person.userId, role);
        else if (present.role !== role) await tx.setRole(present, role);
        await tx.audit('invitation.accept', invitationTarget(invitation), { role });
        return { ...(await tx.markAccepted(id)), team: tx.team };
      });
    },
  };
};

async function inviteOnce(
  tx: TeamTransaction,
  { team, email: spelt, role }: InvitationWish,
  request: KeyedRequest | null,
  newId: string,
): Promise<InvitationRecord> {
  checkInvitedTeam(team, tx.team.number);
  const email = normalEmail(spelt);
  const present = await tx.findInvitation({ email });
  const isMember = tx.members.some((member) => member.email === email);
  const keyOf = present !== null && present.acceptedAt === null && present.revokedAt === null ? present.id : newId;
  const madeBefore = await tx.claimKey(request, keyOf);
  if (madeBefore !== null) {
    const made = await tx.findInvitation({ id: madeBefore });
    if (made === null) throw notFound();
    return made;
  }
  const { kind } = decideInvitation(present, isMember, email, await contextOf(tx));
  if (present !== null && kind === 'renew') return renew(tx, present, role);
  if (present !== null) await tx.deleteInvitation(present.id);
  const invitation = await tx.insertInvitation(newId, { email, role, expiresAt: expiryFrom(tx.now) });
  await tx.audit('invitation.create', invitationTarget(invitation), { role });
  return invitation;
}

async function renew(
  tx: TeamTransaction,
  { id }: InvitationRecord,
  role: InvitationRecord['role'],
): Promise<InvitationRecord> {
  const invitation = await tx.renewInvitation(id, { role, expiresAt: expiryFrom(tx.now) });
  await tx.audit('invitation.renew', invitationTarget(invitation), { role });
  return invitation;
}

const contextOf = async (tx: TeamTransaction): Promise<InvitationContext> => ({
  now: tx.now,
  waiting: await tx.countWaitingInvitations(),
  mails: await tx.listMails(new Date(tx.now.getTime() - MAIL_WINDOW_MS)),
});

export const invitationTarget = ({ id, email }: InvitationRecord): Parameters<TeamTransaction['audit']>[1] => ({
  ...{ kind: 'Invitation', id, name: email },
});
