import { dnsLimits, type TeamId, type UserId } from '@corral/contracts';
import { lockRows, type Prisma, readClock, type Transaction } from '@corral/database';
import type { CallingAccount } from '../accounts/account-tokens.js';
import { isActiveAt } from '../sessions/store.js';
import { DNS_READ_SCOPE, DNS_SCOPE, hashDnsToken, mintDnsToken } from './token-verifier.js';

interface DnsSessionOwner {
  readonly sessionId: string;
  readonly userId: UserId;
  readonly teamId: TeamId;
}

interface DnsSession {
  /** The only place where the text of the token is available. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** Name of the tokens of people in the table. They are in no list. */
const NAME = 'session';

/**
 * Issues a DNS token that belongs to a session and a membership: database triggers revoke it when either ends, or the member
 * becomes a viewer or the reverse. That of a viewer only reads. It expires after 15 minutes, and no later than its session
 * does without further use. Does not count among the team's active tokens. When a session has more than ten of them in a
 * team, the oldest is revoked.
 *
 * @returns null when the session or the membership has ended
 */
export const startDnsSession = (
  prisma: Prisma,
  { sessionId, userId, teamId }: DnsSessionOwner,
): Promise<DnsSession | null> =>
  prisma.$transaction<DnsSession | null>(async (tx) => {
    // The locks keep both from ending, because the trigger of their end could not see the new token.
    await lockRows(tx, 'session', { id: sessionId }, 'SHARE');
    await lockRows(tx, 'membership', { team_id: teamId, user_id: userId }, 'SHARE');
    const now = await readClock(tx);
    const session = await tx.session.findUnique({
      where: { id: sessionId, userId, ...isActiveAt(now) },
      select: { expiresAt: true, idleExpiresAt: true },
    });
    const membership = await tx.membership.findUnique({ where: { teamId_userId: { teamId, userId } } });
    if (session === null || membership === null) return null;
    return issue(tx, now, {
      teamId,
      sessionId,
      endsBy: [session.expiresAt, session.idleExpiresAt],
      keptMax: dnsLimits.activeTokensPerSession,
      name: NAME,
      createdById: userId,
      scopes: [membership.role === 'viewer' ? DNS_READ_SCOPE : DNS_SCOPE],
      withinTypes: [],
    });
  });

/**
 * Issues a DNS token that belongs to the token of a service account: database triggers revoke it when that token ends, also with
 * its account or its issuer, or when the rights of the account change. It covers what the account is narrowed to, and only reads
 * unless the account may change and delete. It expires after 15 minutes, and no later than the token. Does not count among the
 * team's active tokens. When a token has more than a hundred of them, the oldest is revoked.
 *
 * @returns null when the token has ended, or the account has changed meanwhile
 */
export const startDnsSessionOfAccount = (
  prisma: Prisma,
  { id, name, tokenId, issuer, subject, team, clusters }: CallingAccount,
): Promise<DnsSession | null> =>
  prisma.$transaction<DnsSession | null>(async (tx) => {
    // The account comes first, as in its deletion.
    await lockRows(tx, 'service_account', { id }, 'SHARE');
    await lockRows(tx, 'service_account_token', { id: tokenId }, 'SHARE');
    const now = await readClock(tx);
    const token = await tx.serviceAccountToken.findUnique({
      where: {
        id: tokenId,
        revokedAt: null,
        expiresAt: { gt: now },
        account: { id, teamId: team.id, clusters: { equals: [...clusters] } },
      },
      select: { expiresAt: true, account: true },
    });
    if (token === null) return null;
    const { role, actions, dnsWithinName, dnsWithinTypes } = token.account;
    const mayWrite = role !== 'viewer' && actions.includes('change') && actions.includes('delete');
    return issue(tx, now, {
      teamId: team.id,
      sessionId: tokenId,
      endsBy: [token.expiresAt],
      keptMax: dnsLimits.activeTokensPerAccountToken,
      name,
      account: { id, name, tokenId, issuer, subject },
      scopes: [mayWrite ? DNS_SCOPE : DNS_READ_SCOPE],
      withinName: dnsWithinName,
      withinTypes: dnsWithinTypes,
    });
  });

/** The columns of a token, and what bounds it. */
interface Issue {
  readonly endsBy: readonly Date[];
  readonly keptMax: number;
  readonly teamId: TeamId;
  readonly sessionId: string;
  readonly name: string;
  readonly createdById?: UserId;
  readonly account?: object;
  readonly scopes: string[];
  readonly withinName?: string | null;
  readonly withinTypes: string[];
}

async function issue(tx: Transaction, now: Date, { endsBy, keptMax, ...token }: Issue): Promise<DnsSession> {
  const { teamId, sessionId } = token;
  const old = await tx.dnsToken.findMany({
    where: { sessionId, teamId, revokedAt: null, expiresAt: { gt: now } },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    skip: keptMax - 1,
    select: { id: true },
  });
  await tx.dnsToken.updateMany({ where: { id: { in: old.map(({ id }) => id) } }, data: { revokedAt: now } });
  const text = mintDnsToken();
  const hash = new Uint8Array(hashDnsToken(text));
  const ends = [now.getTime() + dnsLimits.sessionTokenSeconds * 1_000, ...endsBy.map((end) => end.getTime())];
  const expiresAt = new Date(Math.min(...ends));
  await tx.dnsToken.createMany({ data: [{ ...token, hash, createdAt: now, expiresAt }] });
  return { token: text, expiresAt };
}
