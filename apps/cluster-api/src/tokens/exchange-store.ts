import { hashAccountToken, mintAccountToken } from '@corral/auth';
import { clusterLimits, storableText, type TeamId } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import type { CandidateIssuer, ExchangeStore, ExchangeTarget } from './exchange.js';
import type { RefusalEntry } from './refusal-log.js';

const SECOND_MS = 1_000;

/** Trusted issuers as the exchange reads them, and the tokens that it issues. */
export const exchangeStore = (prisma: Prisma, changeTeam: ChangeTeam): ExchangeStore => ({
  async find({ team, account, issuer }) {
    const rows = await prisma.$queryRaw<FoundRow[]>`
      SELECT EXISTS (SELECT FROM trusted_issuer WHERE issuer = ${issuer}) AS "isTrustedByAny", team.id AS "teamId",
             account.id AS "accountId", trusted.id, trusted.audience, trusted.claims, trusted.updated_at AS "updatedAt"
      FROM (VALUES (1)) AS one
      LEFT JOIN team ON team.slug = ${team}
      LEFT JOIN service_account AS account ON account.team_id = team.id AND account.name = ${account}
      LEFT JOIN trusted_issuer AS trusted ON trusted.account_id = account.id AND trusted.issuer = ${issuer}
      ORDER BY trusted.name`;
    const { isTrustedByAny, teamId, accountId } = rows[0] as FoundRow;
    if (teamId === null) return { target: null, isTrustedByAny };
    const issuers = rows.flatMap((row) => (row.id === null ? [] : [candidateOf(row, issuer)]));
    const found = accountId === null ? null : { id: accountId, name: account };
    return { target: { team: { id: teamId, slug: team }, account: found, issuers }, isTrustedByAny };
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
});

interface Found {
  readonly isTrustedByAny: boolean;
  /** Null when there is no such team. */
  readonly teamId: TeamId | null;
  readonly accountId: string | null;
}
type CandidateRow = Omit<CandidateIssuer, 'issuer'>;
type FoundRow = Found & (CandidateRow | { readonly id: null });

const candidateOf = ({ id, audience, claims, updatedAt }: CandidateRow, issuer: string): CandidateIssuer => {
  return { id, issuer, audience, claims, updatedAt };
};

/** Writes an entry of refused exchanges. */
export const recordRefusals =
  (prisma: Prisma) =>
  async ({ target, account, reason, issuer, subject, count, requestId }: RefusalEntry): Promise<void> => {
    const { team } = target;
    await recordAudit(
      prisma,
      { userId: null, team, requestId },
      {
        action: 'service_account.refuse_exchange',
        target:
          target.account === null
            ? { kind: 'Team', id: team.id, name: team.slug }
            : { kind: 'ServiceAccount', id: target.account.id, name: target.account.name },
        detail: { account, count, reason, issuer: storable(issuer), subject: storable(subject) },
      },
    );
  };

/** A text of an unverified token. */
const storable = (text: string | null): string | null =>
  text === null ? null : storableText(text, clusterLimits.claimValueCharacters);
