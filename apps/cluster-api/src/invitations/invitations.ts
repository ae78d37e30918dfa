import { randomUUID } from 'node:crypto';
import type { TeamNames } from '@corral/cluster-data';
import { asUserId, clusterLimits, type InvitationWish, normalEmail, type Role, type UserId } from '@corral/contracts';
import { recordAudit } from '../audit/record-audit.js';
import type { KeyedRequest, PersonCaller, RequestContext } from '../changes/caller.js';
import { registerKey } from '../changes/idempotency-keys.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { found, notFound, teamSuspended } from '../problem.js';
import { requireAdmin } from '../teams/rules.js';
import { insertMember, isSuspended, listMembers, type MemberRecord, readTeamNames, writeRole } from '../teams/store.js';
import {
  checkInvitedTeam,
  checkRenewal,
  decideAcceptance,
  decideInvitation,
  expiryFrom,
  type InvitationContext,
  MAIL_WINDOW_MS,
  stateOf,
} from './rules.js';
import {
  countOpen,
  deleteInvitation,
  endInvitation,
  extendInvitation,
  findInvitation,
  findReceived,
  type InvitationRecord,
  insertInvitation,
  insertUser,
  listMails,
  listReceived,
  type ReceivedInvitation,
} from './store.js';

/* The changes of invitations. Each is one transaction. The row is the outbox of its mail. */

/** A signed-in user, independent of teams. */
export interface Person extends RequestContext {
  readonly userId: UserId;
  /** Verified by the sign-in, in lower case. */
  readonly email: string;
}

export interface SentInvitation {
  readonly team: TeamNames;
  readonly invitation: InvitationRecord;
}

/** A change of invitations by an administrator, under the team's lock. */
interface AdminChange {
  readonly tx: Transaction;
  readonly caller: PersonCaller;
  readonly now: Date;
  readonly members: readonly MemberRecord[];
}

const changeAsAdmin = <T>(
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  work: (change: AdminChange, team: TeamNames) => Promise<T>,
): Promise<T> =>
  changeTeam(caller, async (tx, now) => {
    const members = await listMembers(tx, caller.team.id);
    requireAdmin(members, caller.userId);
    return work({ tx, caller, now, members }, await readTeamNames(tx, caller.team.id));
  });

/** @throws Problem `already_member`, `quota_exceeded`, `rate_limit_exceeded`, `validation_failed` */
export const invite = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  wish: InvitationWish,
  request: KeyedRequest | null,
): Promise<SentInvitation> =>
  changeAsAdmin(changeTeam, caller, async (change, team) => {
    checkInvitedTeam(wish.team, team.number);
    const email = normalEmail(wish.email);
    const { tx, now, members } = change;
    const present = await findInvitation(tx, team.id, { email });
    const newId = randomUUID();
    const targetId = present !== null && present.acceptedAt === null && present.revokedAt === null ? present.id : newId;
    // Before the checks: what they count includes the first copy of a repeated request.
    const madeBefore = await registerKey(tx, caller, request, targetId);
    if (madeBefore !== null) return { team, invitation: found(await findInvitation(tx, team.id, { id: madeBefore })) };
    const isMember = members.some((member) => member.email === email);
    const { kind } = decideInvitation(present, isMember, email, await contextOf(change));
    if (present !== null && kind === 'renew') return { team, invitation: await renewed(change, present.id, wish.role) };
    if (present !== null) await deleteInvitation(tx, team.id, present.id);
    const terms = { role: wish.role, expiresAt: expiryFrom(now) };
    const invitation = await insertInvitation(tx, { id: newId, teamId: team.id, email }, terms, caller.userId, now);
    await audit(change, 'invitation.create', invitation);
    return { team, invitation };
  });

/** @throws Problem `not_found`, `quota_exceeded`, `rate_limit_exceeded` */
export const renewInvitation = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  id: string,
  request: KeyedRequest | null,
): Promise<SentInvitation> =>
  changeAsAdmin(changeTeam, caller, async (change, team) => {
    const present = found(await findInvitation(change.tx, team.id, { id }));
    const madeBefore = await registerKey(change.tx, caller, request, id);
    if (madeBefore !== null) return { team, invitation: present };
    checkRenewal(present, present.email, await contextOf(change));
    return { team, invitation: await renewed(change, id, present.role) };
  });

/**
 * Revokes an invitation. Revoking it again changes nothing.
 *
 * @throws Problem `not_found`, also for an accepted invitation: remove the member instead
 */
export const revokeInvitation = (changeTeam: ChangeTeam, caller: PersonCaller, id: string): Promise<void> =>
  changeAsAdmin(changeTeam, caller, async (change, team) => {
    const present = found(await findInvitation(change.tx, team.id, { id }));
    if (present.acceptedAt !== null) throw notFound();
    if (present.revokedAt !== null) return;
    await endInvitation(change.tx, team.id, id, { revokedAt: change.now });
    await audit(change, 'invitation.revoke', present);
  });

async function renewed(change: AdminChange, id: string, role: Role): Promise<InvitationRecord> {
  const { tx, caller, now } = change;
  const terms = { role, expiresAt: expiryFrom(now) };
  const invitation = await extendInvitation(tx, caller.team.id, id, terms, caller.userId, now);
  await audit(change, 'invitation.renew', invitation);
  return invitation;
}

const contextOf = async ({ tx, caller: { team }, now }: AdminChange): Promise<InvitationContext> => ({
  now,
  open: await countOpen(tx, team.id, now),
  mails: await listMails(tx, team.id, new Date(now.getTime() - MAIL_WINDOW_MS)),
});

const targetOf = ({ id, email }: InvitationRecord) => ({ kind: 'Invitation', id, name: email });

async function audit(
  { tx, caller }: AdminChange,
  action: 'invitation.create' | 'invitation.renew' | 'invitation.revoke',
  invitation: InvitationRecord,
): Promise<void> {
  await recordAudit(tx, caller, { action, target: targetOf(invitation), detail: { role: invitation.role } });
}

/** @throws Problem `not_found`, `invitation_expired`, `permission_denied` for a suspended team */
export async function acceptInvitation(
  prisma: Transaction,
  changeTeam: ChangeTeam,
  person: Person,
  id: string,
): Promise<ReceivedInvitation> {
  const received = found(await findReceived(prisma, person.email, id));
  const { userId } = person;
  return changeTeam({ team: received.team, scope: person.scope }, async (tx, now) => {
    const team = await readTeamNames(tx, received.team.id);
    const invitation = found(await findInvitation(tx, team.id, { id }));
    const present = (await listMembers(tx, team.id)).find((member) => member.userId === userId);
    const decision = decideAcceptance(invitation, present?.role ?? null, now);
    if (decision.kind === 'unchanged') return { ...invitation, team };
    if (await isSuspended(tx, team.id)) throw teamSuspended();
    const { role } = decision;
    if (present === undefined) await insertMember(tx, team.id, userId, role, now);
    else if (present.role !== role) await writeRole(tx, team.id, userId, role);
    const actor = { userId, team, requestId: person.requestId };
    await recordAudit(tx, actor, { action: 'invitation.accept', target: targetOf(invitation), detail: { role } });
    return { ...(await endInvitation(tx, team.id, id, { acceptedAt: now })), team };
  });
}

/**
 * Ends an invitation in the name of the invited person. Declining it again, or one that was revoked, changes nothing.
 *
 * @throws Problem `not_found`, also for an accepted invitation: leave the team instead
 */
export async function declineInvitation(
  prisma: Transaction,
  changeTeam: ChangeTeam,
  { userId, email, scope, requestId }: Person,
  id: string,
): Promise<void> {
  const { team } = found(await findReceived(prisma, email, id));
  await changeTeam({ team, scope }, async (tx, now) => {
    const invitation = found(await findInvitation(tx, team.id, { id }));
    if (invitation.acceptedAt !== null) throw notFound();
    if (invitation.revokedAt !== null) return;
    await endInvitation(tx, team.id, id, { revokedAt: now });
    const change = { action: 'invitation.decline', target: targetOf(invitation) } as const;
    await recordAudit(tx, { userId, team, requestId }, change);
  });
}

/**
 * Creates a user for an invited address, without an identity provider. The inviting team vouches for them, so it is locked
 * and its audit log records it. They join the team when they accept.
 *
 * @returns whether the address has an open invitation, and so a user
 */
export async function admitInvited(
  prisma: Transaction,
  changeTeam: ChangeTeam,
  rawEmail: string,
  { scope, requestId }: RequestContext,
): Promise<boolean> {
  const email = normalEmail(rawEmail);
  const userId = asUserId(randomUUID());
  for (const { id, team } of await listReceived(prisma, email, { limit: clusterLimits.listItemsMax, after: null })) {
    const isAdmitted = await changeTeam({ team, scope }, async (tx, now) => {
      const invitation = await findInvitation(tx, team.id, { id });
      if (invitation === null || stateOf(invitation, now) !== 'open') return false;
      const isNew = await insertUser(tx, userId, email, now);
      const change = { action: 'invitation.create_user', target: targetOf(invitation) } as const;
      if (isNew) await recordAudit(tx, { userId, team, requestId }, change);
      return true;
    });
    if (isAdmitted) return true;
  }
  return false;
}
