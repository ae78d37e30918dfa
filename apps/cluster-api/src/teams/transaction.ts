import type { FormerMemberDnsToken } from '@corral/auth';
import type { TeamNames } from '@corral/cluster-data';
import type { AuditAction, DnsTokenHandling, Role, TeamId, UserId } from '@corral/contracts';
import type { AuditedChange } from '../audit/record-audit.js';
import type { KeyedRequest, PersonCaller } from '../changes/caller.js';
import type { Position } from '../paging.js';
import type { InvitationRecord, MemberRecord, ReceivedInvitation, TeamRecord } from './record.js';

/** The user who changes a team: a member or an invited person, possibly a new user. */
export type TeamActor = Pick<PersonCaller, 'userId' | 'team' | 'requestId' | 'scope'>;

export interface InvitationTerms {
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: Date;
}

/** What a change of a team needs from the store. The team is locked meanwhile. */
export interface TeamTransaction {
  /** The database's clock, read under the lock. */
  readonly now: Date;
  readonly team: TeamNames;
  /** All members, longest membership first. */
  readonly members: readonly MemberRecord[];
  /** Reads the whole team, for answers. */
  read(): Promise<TeamRecord>;
  rename(name: string): Promise<void>;

  /** Creates the acting user with that address. @returns false when a user with the address exists */
  createActor(email: string): Promise<boolean>;
  setRole(member: MemberRecord, role: Role): Promise<void>;
  addMember(userId: UserId, role: Role): Promise<void>;
  /** Also revokes their invitations, so that none leads back into the team. */
  removeMember(member: MemberRecord): Promise<void>;
  /** Revokes the active DNS tokens that a member created, or hands them over to the team. @returns these tokens */
  revokeOrHandOverDnsTokens(member: MemberRecord, handling: DnsTokenHandling): Promise<FormerMemberDnsToken[]>;

  findInvitation(by: { readonly id: string } | { readonly email: string }): Promise<InvitationRecord | null>;
  countOpenInvitations(): Promise<number>;
  /** Invitation mails requested since then. */
  listMails(since: Date): Promise<{ readonly email: string; readonly at: Date }[]>;
  /** Its mail is due immediately. */
  insertInvitation(id: string, terms: InvitationTerms): Promise<InvitationRecord>;
  /** Extends the invitation. Its mail is due immediately. */
  renewInvitation(id: string, terms: Pick<InvitationTerms, 'role' | 'expiresAt'>): Promise<InvitationRecord>;
  deleteInvitation(id: string): Promise<void>;
  revokeInvitation(id: string): Promise<void>;
  markAccepted(id: string): Promise<InvitationRecord>;

  /** @returns null when the request is new, else the resource id of the first request with this key */
  registerKey(request: KeyedRequest | null, resourceId: string): Promise<string | null>;
  audit(
    action: AuditAction,
    target: { readonly kind: 'Team' | 'Member' | 'Invitation'; readonly id: string; readonly name: string },
    what?: Pick<AuditedChange, 'changes' | 'detail'>,
  ): Promise<void>;
}

export interface TeamStore {
  /** @throws Error when the team does not exist */
  find(team: Pick<TeamNames, 'id'>): Promise<TeamRecord>;
  /** In no particular order. */
  list(teamIds: readonly TeamId[]): Promise<TeamRecord[]>;
  /** Longest membership first. */
  listMembers(team: Pick<TeamNames, 'id'>, page: { limit: number; after: number | null }): Promise<MemberRecord[]>;
  /** Null when the team has no member with that number. */
  findMember(team: Pick<TeamNames, 'id'>, number: number): Promise<MemberRecord | null>;
  /** Neither accepted nor revoked, newest first. */
  listInvitations(
    team: Pick<TeamNames, 'id'>,
    page: { limit: number; after: Position | null },
  ): Promise<InvitationRecord[]>;
  /** Open invitations to this address, newest first. */
  listReceived(email: string, page: { limit: number; after: Position | null }): Promise<ReceivedInvitation[]>;
  /** Null for one that is revoked, unknown or for another address. */
  findReceived(email: string, id: string): Promise<ReceivedInvitation | null>;
  /** Runs `work` in one transaction that locks the team. Changes of one team are serialized. */
  change<T>(actor: TeamActor, work: (tx: TeamTransaction) => Promise<T>): Promise<T>;
}
