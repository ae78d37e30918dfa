import { hashAccountToken, mintAccountToken } from '@corral/auth';
import { type ClaimConditions, clusterLimits, storableText, type TeamId } from '@corral/contracts';
import { recordAudit } from '../audit/record-audit.js';
import type { RequestContext } from '../changes/caller.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import type { ExchangeRefusal } from './subject-token.js';

const SECOND_MS = 1_000;

/** The service account that a caller names, and the issuers of the token's `iss` that it trusts. */
export interface ExchangeTarget {
  readonly team: { readonly id: TeamId; readonly slug: string };
  /** Null when the team has no such account. */
  readonly account: { readonly id: string; readonly name: string } | null;
  readonly issuers: readonly CandidateIssuer[];
}

export interface CandidateIssuer {
  readonly id: string;
  readonly issuer: string;
  readonly audience: string;
  readonly claims: ClaimConditions;
  readonly updatedAt: Date;
}

/**
 * Reads the same, in one statement, whether or not team and account exist.
 *
 * @returns `target`: null when there is no such team. `isTrustedByAny`: whether any team trusts the issuer
 */
export async function findTarget(
  db: Transaction,
  { team, account, issuer }: { readonly team: string; readonly account: string; readonly issuer: string },
): Promise<{ readonly target: ExchangeTarget | null; readonly isTrustedByAny: boolean }> {
  const rows = await db.$queryRaw<FoundRow[]>`
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
}

/**
 * Issues a token for 15 minutes, with an audit entry.
 *
 * @returns null when account or issuer have changed meanwhile
 */
export async function issueExchanged(
  changeTeam: ChangeTeam,
  { team, account }: ExchangeTarget,
  issuer: CandidateIssuer,
  subject: string,
  { scope, requestId }: RequestContext,
): Promise<string | null> {
  if (account === null) return null;
  const { id: teamId } = team;
  const { id: accountId, name } = account;
  return changeTeam({ team, scope }, async (tx, now) => {
    // Changes of account and issuer hold the same lock, and end the tokens that they find.
    const where = { id: issuer.id, teamId, accountId, updatedAt: issuer.updatedAt };
    if ((await tx.trustedIssuer.count({ where })) === 0) return null;
    await tx.serviceAccountToken.deleteMany({
      where: { teamId, accountId, issuerId: { not: null }, expiresAt: { lte: now } },
    });
    const token = mintAccountToken();
    const hash = new Uint8Array(hashAccountToken(token));
    const expiresAt = new Date(now.getTime() + clusterLimits.exchangedTokenSeconds * SECOND_MS);
    const data = { teamId, accountId, issuerId: issuer.id, subject, hash, createdAt: now, expiresAt };
    const { id: tokenId } = await tx.serviceAccountToken.create({ data, select: { id: true } });
    const actor = { id: accountId, name, tokenId, issuer: issuer.issuer, subject };
    await recordAudit(
      tx,
      { userId: null, account: actor, team, requestId },
      {
        action: 'service_account.exchange_token',
        target: { kind: 'ServiceAccount', id: accountId, name },
        detail: { expiresAt: expiresAt.toISOString() },
      },
    );
    return token;
  });
}

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

/** An entry of the audit log of a team about refused exchanges. */
export interface RefusalEntry {
  readonly target: ExchangeTarget;
  /** The account that the request names. */
  readonly account: string;
  readonly reason: ExchangeRefusal;
  /** The issuer that the token names, which may be wrong. */
  readonly issuer: string | null;
  readonly subject: string | null;
  /** Refused exchanges that the entry stands for. */
  readonly count: number;
  readonly requestId: string;
}

export async function recordRefusals(
  db: Transaction,
  { target: { team, account: named }, account, reason, issuer, subject, count, requestId }: RefusalEntry,
): Promise<void> {
  const target =
    named === null
      ? { kind: 'Team', id: team.id, name: team.slug }
      : { kind: 'ServiceAccount', id: named.id, name: named.name };
  const detail = { account, count, reason, issuer: storable(issuer), subject: storable(subject) };
  await recordAudit(
    db,
    { userId: null, team, requestId },
    { action: 'service_account.refuse_exchange', target, detail },
  );
}

/** A text of an unverified token. */
const storable = (text: string | null): string | null =>
  text === null ? null : storableText(text, clusterLimits.claimValueCharacters);
