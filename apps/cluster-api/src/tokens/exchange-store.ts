import { hashAccountToken, mintAccountToken } from '@corral/auth';
import { asTeamId, type ClaimConditions, clusterLimits } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import type { ExchangeStore, ExchangeTarget } from './exchange.js';

const SECOND_MS = 1_000;

/** Trusted issuers as the exchange reads them, and the tokens that it issues. */
export const exchangeStore = (prisma: Prisma, changeTeam: ChangeTeam): ExchangeStore => ({
  async findTarget(slug, name) {
    const team = await prisma.team.findUnique({
      where: { slug },
      select: {
        id: true,
        serviceAccounts: {
          where: { name },
          select: {
            id: true,
            name: true,
            trustedIssuers: {
              select: { id: true, issuer: true, audience: true, claims: true, updatedAt: true },
              orderBy: { name: 'asc' },
            },
          },
        },
      },
    });
    if (team === null) return null;
    const [account = null] = team.serviceAccounts;
    return {
      team: { id: asTeamId(team.id), slug },
      account: account && { id: account.id, name: account.name },
      issuers: (account?.trustedIssuers ?? []).map((row) => ({ ...row, claims: row.claims as ClaimConditions })),
    };
  },

  async issue({ team, account }: ExchangeTarget, issuer, subject, context) {
    if (account === null) return null;
    const { id: teamId } = team;
    const { id: accountId, name } = account;
    return changeTeam({ team, ...context }, async (tx, now) => {
      // Changes of account and issuer hold the same lock, and end the tokens that they find.
      const where = { id: issuer.id, teamId, accountId, updatedAt: issuer.updatedAt };
      if ((await tx.trustedIssuer.count({ where })) === 0) return null;
      await tx.serviceAccountToken.deleteMany({
        where: { accountId, issuerId: { not: null }, expiresAt: { lte: now } },
      });
      const token = mintAccountToken();
      const hash = new Uint8Array(hashAccountToken(token));
      const expiresAt = new Date(now.getTime() + clusterLimits.exchangedTokenSeconds * SECOND_MS);
      const data = { teamId, accountId, issuerId: issuer.id, subject, hash, createdAt: now, expiresAt };
      const { id: tokenId } = await tx.serviceAccountToken.create({ data, select: { id: true } });
      const actor = { id: accountId, name, tokenId, issuer: issuer.issuer, subject };
      await recordAudit(
        tx,
        { userId: null, account: actor, team, requestId: context.requestId },
        {
          action: 'service_account.exchange_token',
          target: { kind: 'ServiceAccount', id: accountId, name },
          detail: { expiresAt: expiresAt.toISOString() },
        },
      );
      return token;
    });
  },

  async recordRefusal({ team, account }, { account: name, reason, issuer, subject }, { requestId }) {
    await recordAudit(
      prisma,
      { userId: null, team, requestId },
      {
        action: 'service_account.refuse_exchange',
        target:
          account === null
            ? { kind: 'Team', id: team.id, name: team.slug }
            : { kind: 'ServiceAccount', id: account.id, name: account.name },
        detail: { account: name, reason, issuer: storable(issuer), subject: storable(subject) },
      },
    );
  },
});

/** A text of an unverified token in a form that can be stored. */
const storable = (text: string | null): string | null =>
  text?.replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ').slice(0, clusterLimits.claimValueCharacters) ?? null;
