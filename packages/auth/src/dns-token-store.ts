import { dnsLimits, isAtOrBelow, isWritableType, parseRrsetName } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { DNS_SCOPE } from './dns-caller.js';
import { hashDnsToken, mintDnsToken } from './dns-token.js';
import { type TeamRecord, TeamRuleError } from './team-store.js';

export interface DnsTokenRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly withinName: string | null;
  readonly withinTypes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export interface NewDnsToken {
  readonly name: string;
  readonly expiresAt?: Date | undefined;
  readonly withinName?: string | undefined;
  readonly withinTypes?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
}

const shown = {
  ...{ id: true, name: true, scopes: true, withinName: true, withinTypes: true },
  ...{ createdAt: true, expiresAt: true, revokedAt: true, lastUsedAt: true },
} as const;

export const dnsTokenStore = (prisma: Prisma) => ({
  /**
   * Issues a token. Its text is in the answer and nowhere else.
   *
   * @throws TeamRuleError when the team has its 5 active tokens, or the narrowing lies outside the team's names
   */
  async issueToken(team: TeamRecord, wanted: NewDnsToken): Promise<{ token: string; record: DnsTokenRecord }> {
    assertNarrowing(team, wanted);
    const token = mintDnsToken();
    const record = await prisma.$transaction(async (tx) => {
      // Counting and inserting under the team's row: two issues at once cannot both be the fifth.
      await tx.$queryRaw`SELECT id FROM team WHERE id = ${team.id}::uuid FOR NO KEY UPDATE`;
      const active = await tx.dnsToken.count({
        where: { teamId: team.id, ...inForce() },
      });
      if (active >= dnsLimits.activeTokensPerTeam) {
        throw new TeamRuleError(
          `Team "${team.slug}" holds ${active} active tokens, the most a team may have. Revoke one first.`,
        );
      }
      return tx.dnsToken.create({
        data: {
          teamId: team.id,
          name: wanted.name,
          hash: new Uint8Array(hashDnsToken(token)),
          scopes: [...(wanted.scopes ?? [DNS_SCOPE])],
          withinName: wanted.withinName ?? null,
          withinTypes: [...(wanted.withinTypes ?? [])],
          expiresAt: wanted.expiresAt ?? null,
        },
        select: shown,
      });
    });
    return { token, record };
  },

  listTokens(team: TeamRecord): Promise<DnsTokenRecord[]> {
    return prisma.dnsToken.findMany({ where: { teamId: team.id }, orderBy: { createdAt: 'asc' }, select: shown });
  },

  countActive(team: TeamRecord): Promise<number> {
    return prisma.dnsToken.count({ where: { teamId: team.id, ...inForce() } });
  },

  /** Whether a token's text opens the team's door just now. */
  async isInForce(team: TeamRecord, token: string): Promise<boolean> {
    const count = await prisma.dnsToken.count({
      where: { teamId: team.id, hash: new Uint8Array(hashDnsToken(token)), ...inForce() },
    });
    return count === 1;
  },

  /** Revokes for good; gateways learn of it at commit. @returns false when the team has no such token still in force */
  async revokeToken(team: TeamRecord, tokenId: string): Promise<boolean> {
    const { count } = await prisma.dnsToken.updateMany({
      where: { teamId: team.id, id: tokenId, revokedAt: null },
      data: { revokedAt: new Date() },
    });
    return count === 1;
  },
});
export type DnsTokenStore = ReturnType<typeof dnsTokenStore>;

function inForce() {
  return { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] };
}

function assertNarrowing(team: TeamRecord, { withinName, withinTypes = [], expiresAt }: NewDnsToken): void {
  if (withinName !== undefined && (!isAtOrBelow(withinName, team.slug) || parseRrsetName(withinName, '') === null)) {
    throw new TeamRuleError(`A token can be narrowed to "${team.slug}" or a name below it, not to "${withinName}".`);
  }
  const unknown = withinTypes.find((type) => !isWritableType(type));
  if (unknown !== undefined) throw new TeamRuleError(`A token cannot be narrowed to the type "${unknown}".`);
  if (expiresAt !== undefined && !(expiresAt.getTime() > Date.now())) {
    throw new TeamRuleError('A token has to expire in the future.');
  }
}
