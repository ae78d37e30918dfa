import { dnsLimits, type TeamId, type UserId } from '@corral/contracts';
import { type Prisma, rowClock, type Sql, sql, sqlText } from '@corral/database';
import type { CallingAccount } from '../accounts/account-tokens.js';
import { DNS_READ_SCOPE, DNS_SCOPE, hashDnsToken, mintDnsToken } from './token-verifier.js';

export interface DnsSessionOwner {
  readonly sessionId: string;
  readonly userId: UserId;
  readonly teamId: TeamId;
}

export interface DnsSession {
  /** The only place where the text of the token is available. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** Name of the tokens of people in the table. They are in no list. */
const NAME = 'session';

/** The end of a token by now. */
const ENDS_AT = sql`clock_timestamp() + ${dnsLimits.sessionTokenSeconds}::int * interval '1 s'`;

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
  issue(prisma, {
    owner: sql`
      SELECT least(${ENDS_AT}, session.expires_at, session.idle_expires_at) AS ends_at,
             CASE membership.role WHEN 'viewer' THEN ${DNS_READ_SCOPE} ELSE ${DNS_SCOPE} END AS scope,
             session.user_id AS created_by, NULL::jsonb AS account, NULL AS within_name, ARRAY[]::text[] AS within_types
      FROM session JOIN membership ON membership.user_id = session.user_id
      WHERE session.id = ${sessionId}::uuid AND session.user_id = ${userId}::uuid AND membership.team_id = ${teamId}::uuid
        AND session.revoked_at IS NULL
        AND least(session.expires_at, session.idle_expires_at) > ${sqlText(rowClock)}
      FOR SHARE OF session, membership`,
    sessionId,
    teamId,
    name: NAME,
    keptMax: dnsLimits.activeTokensPerSession,
  });

/**
 * Issues a DNS token that belongs to the token of a service account: database triggers revoke it when that token ends, also with
 * its account or its issuer, or when the rights of the account change. It covers what the account is narrowed to, and only reads
 * unless the account may change and delete. It expires after 15 minutes, and no later than the token. Does not count among the
 * team's active tokens. When a token has more than a hundred of them, the oldest is revoked.
 *
 * @returns null when the token has ended, or the account has changed meanwhile
 */
export function startDnsSessionOfAccount(prisma: Prisma, caller: CallingAccount): Promise<DnsSession | null> {
  const { id, name, tokenId, issuer, subject, team } = caller;
  return issue(prisma, {
    owner: sql`
      SELECT least(${ENDS_AT}, token.expires_at) AS ends_at,
             CASE WHEN account.role <> 'viewer' AND account.actions @> ARRAY['change', 'delete'] THEN ${DNS_SCOPE}
                  ELSE ${DNS_READ_SCOPE} END AS scope,
             NULL::uuid AS created_by, ${JSON.stringify({ id, name, tokenId, issuer, subject })}::jsonb AS account,
             account.dns_within_name AS within_name, account.dns_within_types AS within_types
      FROM service_account_token AS token JOIN service_account AS account ON account.id = token.account_id
      WHERE token.id = ${tokenId}::uuid AND account.team_id = ${team.id}::uuid
        AND account.clusters = ${[...caller.clusters]}::text[]
        AND token.revoked_at IS NULL AND token.expires_at > ${sqlText(rowClock)}
      FOR SHARE OF token, account`,
    sessionId: tokenId,
    teamId: team.id,
    name,
    keptMax: dnsLimits.activeTokensPerAccountToken,
  });
}

interface Issue {
  /** Reads the owner, and locks its rows against their end, whose trigger otherwise could not see the new token. */
  readonly owner: Sql;
  readonly sessionId: string;
  readonly teamId: TeamId;
  readonly name: string;
  readonly keptMax: number;
}

async function issue(prisma: Prisma, { owner, sessionId, teamId, name, keptMax }: Issue): Promise<DnsSession | null> {
  const token = mintDnsToken();
  const hash = new Uint8Array(hashDnsToken(token));
  const [issued] = await prisma.$queryRaw<{ expiresAt: Date }[]>`
    WITH owner AS MATERIALIZED (${owner}), replaced AS (
      UPDATE dns_token SET revoked_at = clock_timestamp()
      WHERE id IN (SELECT id FROM dns_token
                   WHERE session_id = ${sessionId}::uuid AND team_id = ${teamId}::uuid
                     AND revoked_at IS NULL AND expires_at > ${sqlText(rowClock)}
                   ORDER BY created_at DESC, id OFFSET ${keptMax - 1})
    )
    INSERT INTO dns_token (team_id, created_by, session_id, account, name, hash, scopes, within_name, within_types, expires_at)
    SELECT ${teamId}::uuid, created_by, ${sessionId}::uuid, account, ${name}, ${hash}, ARRAY[scope], within_name, within_types,
           ends_at
    FROM owner
    RETURNING expires_at AS "expiresAt"`;
  return issued === undefined ? null : { token, expiresAt: issued.expiresAt };
}
