import type { TeamNames } from '@corral/cluster-data';
import { asUserId, clusterLimits, type InvitationWish, normalEmail, type UserId } from '@corral/contracts';
import type { KeyedRequest, PersonCaller, RequestContext } from '../changes/caller.js';
import { notFound } from '../problem.js';
import { requireAdmin } from '../teams/member-rules.js';
import type { InvitationRecord, ReceivedInvitation } from '../teams/record.js';
import type { TeamStore, TeamTransaction } from '../teams/transaction.js';
import {
  checkInvitedTeam,
  checkRenewal,
  decideAcceptance,
  decideInvitation,
  expiryFrom,
  type InvitationContext,
  MAIL_WINDOW_MS,
  stateOf,
} from './invitation-rules.js';

/** A signed-in user, independent of teams. */
export interface Person extends RequestContext {
  readonly userId: UserId;
  /** Verified by the sign-in, in lower case. */
  readonly email: string;
}

interface SentInvitation {
  readonly team: TeamNames;
  readonly invitation: InvitationRecord;
}

interface InvitationServiceDeps {
  readonly store: Pick<TeamStore, 'change' | 'findReceived'>;
  /** Sends a wake-up for a due mail. Never rejects: the row is marked as due, so the schedule finds a lost wake-up. */
  readonly wakeMail: () => Promise<void>;
  readonly newId: () => string;
}

export type InvitationService = ReturnType<typeof invitationService>;

/** The changes of invitations. Each is one transaction. The row is the outbox of its mail. */
export const invitationService = ({ store, wakeMail, newId }: InvitationServiceDeps) => {
  const changeAndMail = async (
    caller: PersonCaller,
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
    invite: (caller: PersonCaller, requested: InvitationWish, request: KeyedRequest | null): Promise<SentInvitation> =>
      changeAndMail(caller, (tx) => inviteOnce(tx, requested, request, newId())),

    /** @throws Problem `not_found`, `quota_exceeded`, `rate_limit_exceeded` */
    renew: (caller: PersonCaller, id: string, request: KeyedRequest | null): Promise<SentInvitation> =>
      changeAndMail(caller, async (tx) => {
        const present = await tx.findInvitation({ id });
        if (present === null) throw notFound();
        if ((await tx.registerKey(request, id)) !== null) return present;
        checkRenewal(present, present.email, await contextOf(tx));
        return renew(tx, present, present.role);
      }),

    /**
     * Revokes an invitation. Revoking it again changes nothing.
     *
     * @throws Problem `not_found`, also for an accepted invitation: remove the member instead
     */
    revoke: (caller: PersonCaller, id: string): Promise<void> =>
      store.change(caller, async (tx) => {
        requireAdmin(tx.members, caller.userId);
        const present = await tx.findInvitation({ id });
        if (present === null || present.acceptedAt !== null) throw notFound();
        if (present.revokedAt !== null) return;
        await tx.revokeInvitation(id);
        await tx.audit('invitation.revoke', invitationTarget(present), { detail: { role: present.role } });
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
        await tx.audit('invitation.accept', invitationTarget(invitation), { detail: { role } });
        return { ...(await tx.markAccepted(id)), team: tx.team };
      });
    },
  };
};

async function inviteOnce(
  tx: TeamTransaction,
  { team, email: rawEmail, role }: InvitationWish,
  request: KeyedRequest | null,
  newId: string,
): Promise<InvitationRecord> {
  checkInvitedTeam(team, tx.team.number);
  const email = normalEmail(rawEmail);
  const present = await tx.findInvitation({ email });
  const isMember = tx.members.some((member) => member.email === email);
  const keyOf = present !== null && present.acceptedAt === null && present.revokedAt === null ? present.id : newId;
  const madeBefore = await tx.registerKey(request, keyOf);
  if (madeBefore !== null) {
    const made = await tx.findInvitation({ id: madeBefore });
    if (made === null) throw notFound();
    return made;
  }
  const { kind } = decideInvitation(present, isMember, email, await contextOf(tx));
  if (present !== null && kind === 'renew') return renew(tx, present, role);
  if (present !== null) await tx.deleteInvitation(present.id);
  const invitation = await tx.insertInvitation(newId, { email, role, expiresAt: expiryFrom(tx.now) });
  await tx.audit('invitation.create', invitationTarget(invitation), { detail: { role } });
  return invitation;
}

async function renew(
  tx: TeamTransaction,
  { id }: InvitationRecord,
  role: InvitationRecord['role'],
): Promise<InvitationRecord> {
  const invitation = await tx.renewInvitation(id, { role, expiresAt: expiryFrom(tx.now) });
  await tx.audit('invitation.renew', invitationTarget(invitation), { detail: { role } });
  return invitation;
}

const contextOf = async (tx: TeamTransaction): Promise<InvitationContext> => ({
  now: tx.now,
  open: await tx.countOpenInvitations(),
  mails: await tx.listMails(new Date(tx.now.getTime() - MAIL_WINDOW_MS)),
});

const invitationTarget = ({ id, email }: InvitationRecord): Parameters<TeamTransaction['audit']>[1] => ({
  kind: 'Invitation',
  id,
  name: email,
});

interface AdmissionDeps {
  readonly store: Pick<TeamStore, 'change' | 'listReceived'>;
  readonly newId: () => string;
}

/** Creates a user for an invited address. @returns whether the address has a user now */
export type AdmitInvited = (email: string, context: RequestContext) => Promise<boolean>;

/**
 * Creates users for invited people without an identity provider. The inviting team vouches for them, so it is locked
 * and its audit log records it. They join the team when they accept.
 */
export const admitInvited =
  ({ store, newId }: AdmissionDeps): AdmitInvited =>
  async (rawEmail, context) => {
    const email = normalEmail(rawEmail);
    const page = { limit: clusterLimits.listItemsMax, after: null };
    for (const { id, team } of await store.listReceived(email, page)) {
      const isAdmitted = await store.change({ userId: asUserId(newId()), ...context, team }, async (tx) => {
        const invitation = await tx.findInvitation({ id });
        if (invitation === null || stateOf(invitation, tx.now) !== 'open') return false;
        const isNew = await tx.createActor(email);
        if (isNew) await tx.audit('invitation.create_user', invitationTarget(invitation));
        return true;
      });
      if (isAdmitted) return true;
    }
    return false;
  };
