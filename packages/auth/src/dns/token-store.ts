import {
  canNarrowTo,
  type DnsTokenHandling,
  dnsLimits,
  isShownName,
  isWritableType,
  type TeamId,
  textRules,
  type UserId,
} from '@corral/contracts';
import { lockRows, lockTeamChanges, type Prisma, readClock, type Transaction } from '@corral/database';
import { type NamedTeam, TeamRuleError } from '../people/team-store.js';
import { personOf } from '../people/user-store.js';
import { DNS_SCOPE, hashDnsToken, mintDnsToken } from './token-verifier.js';

export interface DnsTokenRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly withinName: string | null;
  readonly withinTypes: readonly string[];
  readonly createdAt: Date;
  /** Null for a token created by an operator or handed over to the team. */
  readonly createdBy: { readonly id: number; readonly email: string; readonly displayName: string } | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** The actor of a token change, for the audit log. */
export interface DnsTokenActor {
  /** Null for an operator. */
  readonly userId: UserId | null;
  readonly requestId: string | null;
  /** Name of an operator. */
  readonly operator?: string | undefined;
}

/** The service itself, also in tests and development installations. */
export const nobody: DnsTokenActor = { userId: null, requestId: null };

export interface NewDnsToken {
  readonly name: string;
  readonly expiresAt?: Date | null | undefined;
  readonly withinName?: string | null | undefined;
  readonly withinTypes?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/** A token cannot be issued as requested. */
export class DnsTokenRefused extends TeamRuleError {
  /**
   * @param field the invalid field, or null when the team has reached its token limit
   * @param wrong the rest of the sentence after the field's name, or a whole sentence without a field. No full stop
   */
  constructor(
    readonly field: 'name' | 'withinName' | 'withinTypes' | 'expiresAt' | null,
    readonly wrong: string,
  ) {
    super(`${field === null ? '' : `${field} `}${wrong}.`);
  }
}

/**
 * Checks that people can read a new token's name, that its narrowing lies within the team and that its expiry is in the future.
 *
 * @throws DnsTokenRefused
 */
function checkNewDnsToken(
  { slug }: NamedTeam,
  { name, withinName, withinTypes = [], expiresAt }: NewDnsToken,
  now: Date,
): void {
  if (!isShownName(name)) throw new DnsTokenRefused('name', textRules.shownName.must);
  if (withinName != null && !canNarrowTo(withinName, slug)) {
    throw new DnsTokenRefused('withinName', `must be "${slug}" or a name below it`);
  }
  const unknown = withinTypes.find((type) => !isWritableType(type));
  if (unknown !== undefined) throw new DnsTokenRefused('withinTypes', `cannot contain "${unknown}"`);
  if (expiresAt != null && !(expiresAt > now)) throw new DnsTokenRefused('expiresAt', 'must be in the future');
}

/** Columns of a token for Prisma's `select`, without its hash. */
export const shownOfDnsToken = {
  id: true,
  name: true,
  scopes: true,
  withinName: true,
  withinTypes: true,
  createdAt: true,
  expiresAt: true,
  revokedAt: true,
  lastUsedAt: true,
  creator: { select: { number: true, email: true, displayName: true, firstName: true, lastName: true } },
} as const;

interface DnsTokenRow extends Omit<DnsTokenRecord, 'createdBy'> {
  readonly creator: {
    readonly number: number;
    readonly email: string;
    readonly displayName: string;
    readonly firstName: string;
    readonly lastName: string;
  } | null;
}

export function dnsTokenRecordOf({ creator, ...row }: DnsTokenRow): DnsTokenRecord {
  return { ...row, createdBy: creator && personOf(creator) };
}

/**
 * Prisma condition for tokens that are neither revoked nor expired.
 *
 * @param now the database's clock
 */
export const inForce = (now: Date) => ({ revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] });

/** Prisma condition for the tokens that count among those of the team: not those of names on clusters, which have a limit of their own. */
const isCounted = { sessionId: null, hostedName: null } as const;

/** Prisma condition for tokens that last. The others belong to a session and are in no list. */
export const isKept = { sessionId: null } as const;

/**
 * Issues a token within the caller's transaction, with its audit entry. The token's text is only in the result.
 *
 * @throws DnsTokenRefused when the team has 5 active tokens, or the narrowing lies outside the team's names
 */
export async function issueDnsToken(
  tx: Transaction,
  team: NamedTeam,
  wanted: NewDnsToken & { readonly id?: string },
  by: DnsTokenActor,
): Promise<{ token: string; record: DnsTokenRecord }> {
  // Counts and inserts under the team's lock, so two concurrent issues cannot both be the fifth.
  const now = await lockTeamChanges(tx, team.id);
  checkNewDnsToken(team, wanted, now);
  const active = await tx.dnsToken.count({ where: { teamId: team.id, ...isCounted, ...inForce(now) } });
  if (active >= dnsLimits.activeTokensPerTeam) {
    const held = `Team "${team.slug}" has ${active} active tokens, which is the limit per team`;
    throw new DnsTokenRefused(null, `${held}. Revoke one first`);
  }
  const token = mintDnsToken();
  const narrowing = {
    scopes: [...(wanted.scopes ?? [DNS_SCOPE])],
    withinName: wanted.withinName ?? null,
    withinTypes: [...(wanted.withinTypes ?? [])],
  };
  const expiresAt = wanted.expiresAt ?? null;
  const row = await tx.dnsToken.create({
    data: {
      teamId: team.id,
      createdById: by.userId,
      name: wanted.name,
      createdAt: now,
      expiresAt,
      ...narrowing,
      ...(wanted.id === undefined ? {} : { id: wanted.id }),
      hash: new Uint8Array(hashDnsToken(token)),
    },
    select: shownOfDnsToken,
  });
  const detail = { ...narrowing, expiresAt: expiresAt?.toISOString() ?? null };
  await recordTokenAudit(tx, team.id, by, { action: 'dns_token.create', token: row, detail });
  return { token, record: dnsTokenRecordOf(row) };
}

/**
 * Revokes a token within the caller's transaction, with its audit entry. Gateways are notified at commit.
 *
 * @returns false when the team has no unrevoked token of this id
 */
export async function revokeDnsToken(
  tx: Transaction,
  team: NamedTeam,
  tokenId: string,
  by: DnsTokenActor,
): Promise<boolean> {
  const [revoked] = await tx.dnsToken.updateManyAndReturn({
    where: { teamId: team.id, id: tokenId, ...isKept, revokedAt: null },
    data: { revokedAt: await readClock(tx) },
    select: { id: true, name: true },
  });
  if (revoked === undefined) return false;
  await recordTokenAudit(tx, team.id, by, { action: 'dns_token.revoke', token: revoked, detail: {} });
  return true;
}

export interface FormerMemberDnsToken {
  readonly id: string;
  readonly name: string;
}

/** Prisma condition for a person's active tokens of a team. */
const createdBy = (teamId: TeamId, createdById: UserId, now: Date) => ({
  teamId,
  createdById,
  ...isKept,
  ...inForce(now),
});

/** A person's active tokens of a team, ordered by name: those that end or are handed over when the person may no longer have any. */
export async function findDnsTokensOf(
  db: Transaction,
  teamId: TeamId,
  createdById: UserId,
): Promise<FormerMemberDnsToken[]> {
  const where = createdBy(teamId, createdById, await readClock(db));
  return db.dnsToken.findMany({ where, select: { id: true, name: true }, orderBy: { name: 'asc' } });
}

/**
 * Revokes a person's active tokens of a team, or hands them over to the team. Runs within the caller's transaction,
 * which has the team's lock, and writes an audit entry for each.
 *
 * @returns the tokens, ordered by name
 */
export async function revokeOrHandOverDnsTokens(
  tx: Transaction,
  teamId: TeamId,
  createdById: UserId,
  handling: DnsTokenHandling,
  by: DnsTokenActor,
): Promise<FormerMemberDnsToken[]> {
  await lockRows(tx, 'dns_token', { team_id: teamId, created_by: createdById, revoked_at: null });
  const now = await readClock(tx);
  const tokens = await tx.dnsToken.updateManyAndReturn({
    where: createdBy(teamId, createdById, now),
    data: handling === 'revoke' ? { revokedAt: now } : { createdById: null },
    select: { id: true, name: true },
  });
  for (const token of tokens)
    await recordTokenAudit(tx, teamId, by, { action: `dns_token.${handling}`, token, detail: {} });
  return tokens.sort((one, other) => (one.name < other.name ? -1 : 1));
}

interface TokenChange {
  readonly action: 'dns_token.create' | `dns_token.${DnsTokenHandling}`;
  readonly token: { readonly id: string; readonly name: string };
  readonly detail: object;
}

/** Writes the entry about a change of a token. */
export async function recordTokenAudit(
  tx: Transaction,
  teamId: TeamId,
  { userId, requestId, operator }: DnsTokenActor,
  { action, token, detail }: TokenChange,
): Promise<void> {
  const target = { targetKind: 'DnsToken', targetId: token.id, targetName: token.name };
  const createdAt = await readClock(tx);
  await tx.auditEntry.create({
    data: { teamId, userId, requestId, operator: operator ?? null, action, detail, ...target, createdAt },
  });
}

/** Token operations of the installation itself. Those of a person or an operator have an actor. */
export const dnsTokenStore = (prisma: Prisma) => ({
  /**
   * Issues a token. Its text is only in the result.
   *
   * @throws DnsTokenRefused when the team has 5 active tokens, or the narrowing lies outside the team's names
   */
  issueToken: (team: NamedTeam, wanted: NewDnsToken): Promise<{ token: string; record: DnsTokenRecord }> =>
    prisma.$transaction((tx) => issueDnsToken(tx, team, wanted, nobody)),

  async listTokens(team: NamedTeam): Promise<DnsTokenRecord[]> {
    const where = { teamId: team.id, ...isKept };
    const rows = await prisma.dnsToken.findMany({ where, orderBy: { createdAt: 'asc' }, select: shownOfDnsToken });
    return rows.map(dnsTokenRecordOf);
  },

  async countActive(team: NamedTeam): Promise<number> {
    return prisma.dnsToken.count({ where: { teamId: team.id, ...isCounted, ...inForce(await readClock(prisma)) } });
  },

  /** Whether the text is an active token of the team. */
  async isInForce(team: NamedTeam, token: string): Promise<boolean> {
    const count = await prisma.dnsToken.count({
      where: { teamId: team.id, hash: new Uint8Array(hashDnsToken(token)), ...inForce(await readClock(prisma)) },
    });
    return count === 1;
  },

  /**
   * Revokes a token; gateways are notified at commit. @returns false when the team has no unrevoked token of this id
   */
  revokeToken: (team: NamedTeam, tokenId: string): Promise<boolean> =>
    prisma.$transaction(async (tx) => {
      await lockTeamChanges(tx, team.id);
      return revokeDnsToken(tx, team, tokenId, nobody);
    }),
});
export type DnsTokenStore = ReturnType<typeof dnsTokenStore>;
