import { dnsLimits, type LeftTokenFate } from '@corral/contracts';
import { lockTeamChanges, type Prisma, readClock, type Transaction } from '@corral/database';
import { displayNameOf } from './display-name.js';
import { DNS_SCOPE } from './dns-caller.js';
import { hashDnsToken, mintDnsToken } from './dns-token.js';
import { checkNewDnsToken, DnsTokenRefused, type NewDnsToken } from './dns-token-rules.js';
import type { TeamRecord } from './team-store.js';

export interface DnsTokenRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly withinName: string | null;
  readonly withinTypes: readonly string[];
  readonly createdAt: Date;
  /** Null: nobody's own. An operator made it, or it was handed over to the team. */
  readonly createdBy: { readonly id: number; readonly email: string; readonly displayName: string } | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** Who changes a team's tokens, for the audit log. */
export interface DnsTokenActor {
  /** Null: an operator. */
  readonly userId: string | null;
  readonly requestId: string | null;
}

/** Whoever has the database: nobody else issues tokens without being signed in. */
const operator: DnsTokenActor = { userId: null, requestId: null };

type Team = Pick<TeamRecord, 'id' | 'slug'>;

/** What is shown of a token, for Prisma's `select`: not its hash. */
export const shownOfDnsToken = {
  ...{ id: true, name: true, scopes: true, withinName: true, withinTypes: true },
  ...{ createdAt: true, expiresAt: true, revokedAt: true, lastUsedAt: true },
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
  const createdBy = creator && { id: creator.number, email: creator.email, displayName: displayNameOf(creator) };
  return { ...row, createdBy };
}

/**
 * The tokens that open the team's door just now.
 *
 * @param now the database's clock
 */
export const inForce = (now: Date) => ({
  revokedAt: null,
  OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
});

/**
 * Issues a token in a transaction of the caller's, with its audit entry. Its text is in the answer and nowhere else.
 *
 * @throws DnsTokenRefused when the team has its 5 active tokens, or the narrowing lies outside the team's names
 */
export async function issueDnsToken(
  tx: Transaction,
  team: Team,
  wanted: NewDnsToken & { readonly id?: string },
  by: DnsTokenActor,
): Promise<{ token: string; record: DnsTokenRecord }> {
  // Counting and inserting while the team's changes are held: two issues at once cannot both be the fifth.
  const now = await lockTeamChanges(tx, team.id);
  checkNewDnsToken(team, wanted, now);
  const active = await tx.dnsToken.count({ where: { teamId: team.id, ...inForce(now) } });
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
      ...{ teamId: team.id, createdById: by.userId, name: wanted.name, createdAt: now, expiresAt, ...narrowing },
      ...(wanted.id === undefined ? {} : { id: wanted.id }),
      hash: new Uint8Array(hashDnsToken(token)),
    },
    select: shownOfDnsToken,
  });
  const detail = { ...narrowing, expiresAt: expiresAt?.toISOString() ?? null };
  await recordAudit(tx, team, by, { action: 'dns_token.create', token: row, detail });
  return { token, record: dnsTokenRecordOf(row) };
}

/**
 * Revokes a token for good in a transaction of the caller's, with its audit entry; gateways learn of it at commit.
 *
 * @returns false when the team has no such token that is not revoked yet
 */
export async function revokeDnsToken(
  tx: Transaction,
  team: Team,
  tokenId: string,
  by: DnsTokenActor,
): Promise<boolean> {
  const [revoked] = await tx.dnsToken.updateManyAndReturn({
    where: { teamId: team.id, id: tokenId, revokedAt: null },
    data: { revokedAt: await readClock(tx) },
    select: { id: true, name: true },
  });
  if (revoked === undefined) return false;
  await recordAudit(tx, team, by, { action: 'dns_token.revoke', token: revoked, detail: {} });
  return true;
}

export interface LeftDnsToken {
  readonly id: string;
  readonly name: string;
}

/**
 * Revokes a person's own tokens of a team that are in force, or makes them the team's and nobody's own, in a transaction of
 * the caller's that holds the team; each with its audit entry.
 *
 * @returns them, by name
 */
export async function leaveDnsTokens(
  tx: Transaction,
  team: Pick<Team, 'id'>,
  { id: createdById }: { readonly id: string },
  fate: LeftTokenFate,
  by: DnsTokenActor,
): Promise<LeftDnsToken[]> {
  // In the order in which everybody takes many of them.
  await tx.$queryRaw`
    SELECT id FROM dns_token WHERE team_id = ${team.id}::uuid AND created_by = ${createdById}::uuid AND revoked_at IS NULL
    ORDER BY id FOR NO KEY UPDATE`;
  const now = await readClock(tx);
  const left = await tx.dnsToken.updateManyAndReturn({
    where: { teamId: team.id, createdById, ...inForce(now) },
    data: fate === 'revoke' ? { revokedAt: now } : { createdById: null },
    select: { id: true, name: true },
  });
  for (const token of left) await recordAudit(tx, team, by, { action: `dns_token.${fate}`, token, detail: {} });
  return left.sort((one, other) => (one.name < other.name ? -1 : 1));
}

interface TokenChange {
  readonly action: 'dns_token.create' | `dns_token.${LeftTokenFate}`;
  readonly token: { readonly id: string; readonly name: string };
  readonly detail: object;
}

async function recordAudit(
  tx: Transaction,
  { id: teamId }: Pick<Team, 'id'>,
  { userId, requestId }: DnsTokenActor,
  { action, token, detail }: TokenChange,
): Promise<void> {
  const target = { targetKind: 'DnsToken', targetId: token.id, targetName: token.name };
  await tx.auditEntry.create({ data: { ...{ teamId, userId, requestId, action, detail }, ...target } });
}

/** What an operator does with tokens. */
export const dnsTokenStore = (prisma: Prisma) => ({
  /**
   * Issues a token. Its text is in the answer and nowhere else.
   *
   * @throws DnsTokenRefused when the team has its 5 active tokens, or the narrowing lies outside the team's names
   */
  issueToken: (team: Team, wanted: NewDnsToken): Promise<{ token: string; record: DnsTokenRecord }> =>
    prisma.$transaction((tx) => issueDnsToken(tx, team, wanted, operator)),

  async listTokens(team: Team): Promise<DnsTokenRecord[]> {
    const where = { teamId: team.id };
    const rows = await prisma.dnsToken.findMany({ where, orderBy: { createdAt: 'asc' }, select: shownOfDnsToken });
    return rows.map(dnsTokenRecordOf);
  },

  async countActive(team: Pick<TeamRecord, 'id'>): Promise<number> {
    return prisma.dnsToken.count({ where: { teamId: team.id, ...inForce(await readClock(prisma)) } });
  },

  /** Whether a token's text opens the team's door just now. */
  async isInForce(team: Team, token: string): Promise<boolean> {
    const count = await prisma.dnsToken.count({
      where: { teamId: team.id, hash: new Uint8Array(hashDnsToken(token)), ...inForce(await readClock(prisma)) },
    });
    return count === 1;
  },

  /** Revokes for good; gateways learn of it at commit. @returns false when the team has no such token still in force */
  revokeToken: (team: Team, tokenId: string): Promise<boolean> =>
    prisma.$transaction(async (tx) => {
      await lockTeamChanges(tx, team.id);
      return revokeDnsToken(tx, team, tokenId, operator);
    }),
});
export type DnsTokenStore = ReturnType<typeof dnsTokenStore>;
