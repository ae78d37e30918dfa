import type { LeftDnsToken } from '@corral/auth';
import type { AuditAction, LeftTokenFate, Role } from '@corral/contracts';
import type { Caller } from './caller.js';
import type { KeyedRequest } from './keyed-request.js';
import type { Position } from './position.js';
import type { InvitationRecord, MemberRecord, ReceivedInvitation, TeamIdentity, TeamRecord } from './team-record.js';

/** Who changes a team: a member of it, or who is about to become one, and maybe a user only now. */
export type TeamActor = Pick<Caller, 'userId' | 'team' | 'requestId' | 'gone' | 'setAside'>;

export interface InvitationTerms {
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: Date;
}

/** What a change of a team needs of the store, while the team is locked. */
export interface TeamTransaction {
  /** The database's clock, read under the lock. */
  readonly now: Date;
  readonly team: TeamIdentity;
  /** All of them, longest first. */
  readonly members: readonly MemberRecord[];
  /** The whole of it, for answers. */
  read(): Promise<TeamRecord>;
  rename(name: string): Promise<void>;

  /** Makes the one who acts a user with that address. @returns false when somebody has it by now */
  createActor(email: string): Promise<boolean>;
  setRole(member: MemberRecord, role: Role): Promise<void>;
  addMember(userId: string, role: Role): Promise<void>;
  /** Takes their invitations with it, so that none leads back in. */
  removeMember(member: MemberRecord): Promise<void>;
  /** Revokes the DNS tokens in force that a member has made for the team, or makes them the team's. @returns them, by name */
  leaveDnsTokens(member: MemberRecord, fate: LeftTokenFate): Promise<LeftDnsToken[]>;

  findInvitation(by: { readonly id: string } | { readonly email: string }): Promise<InvitationRecord | null>;
  countWaitingInvitations(): Promise<number>;
  /** Mails of invitations that were asked for since then. */
  listMails(since: Date): Promise<{ readonly email: string; readonly at: Date }[]>;
  /** With its mail due at once. */
  insertInvitation(id: string, terms: InvitationTerms): Promise<InvitationRecord>;
  /** Lets it hold anew, with its mail due at once. */
  renewInvitation(id: string, terms: Pick<InvitationTerms, 'role' | 'expiresAt'>): Promise<InvitationRecord>;
  deleteInvitation(id: string): Promise<void>;
  revokeInvitation(id: string): Promise<void>;
  markAccepted(id: string): Promise<InvitationRecord>;

  /** @returns null when the request is new, else the id that its first copy made */
  claimKey(request: KeyedRequest | null, resourceId: string): Promise<string | null>;
  audit(
    action: AuditAction,
    target: { readonly kind: 'Team' | 'Member' | 'Invitation'; readonly id: string; readonly name: string },
    detail?: Readonly<Record<string, string | number | boolean | null>>,
  ): Promise<void>;
}

export interface TeamStore {
  /** @throws Error when the team of a caller is gone */
  find(team: Pick<TeamIdentity, 'id'>): Promise<TeamRecord>;
  /** In no order. */
  list(teamIds: readonly string[]): Promise<TeamRecord[]>;
  /** Longest first. */
  listMembers(team: Pick<TeamIdentity, 'id'>, page: { limit: number; after: number | null }): Promise<MemberRecord[]>;
  /** Null when the team has no member of that number. */
  findMember(team: Pick<TeamIdentity, 'id'>, number: number): Promise<MemberRecord | null>;
  /** Neither accepted nor revoked, newest first. */
  listInvitations(
    team: Pick<TeamIdentity, 'id'>,
    page: { limit: number; after: Position | null },
  ): Promise<InvitationRecord[]>;
  /** Those that wait for an answer from this address, newest first. */
  listReceived(email: string, page: { limit: number; after: Position | null }): Promise<ReceivedInvitation[]>;
  /** Null for one that is revoked, unknown or to another address. */
  findReceived(email: string, id: string): Promise<ReceivedInvitation | null>;
  /** Runs `work` in one transaction that holds the team: changes of one team come one after the other. */
  change<T>(actor: TeamActor, work: (tx: TeamTransaction) => Promise<T>): Promise<T>;
}
