import { dnsLimits, type TeamId, type UserId } from '@corral/contracts';
import { type Prisma, rowClock, sqlText } from '@corral/database';
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

/** Name of these tokens in the table. They are in no list. */
const NAME = 'session';

/**
 * Issues a DNS token that belongs to a session and a membership: database triggers revoke it when either ends, or the member
 * becomes a viewer or the reverse. That of a viewer only reads. It expires after 15 minutes, and no later than its session
 * does without further use. Does not count among the team's active tokens. When a session has more than ten of them in a
 * team, the oldest is revoked.
 *
 * @returns null when the session or the membership has ended
 */
export async function startDnsSession(
  prisma: Prisma,
  { sessionId, userId, teamId }: DnsSessionOwner,
): Promise<DnsSession | null> {
  const token = mintDnsToken();
  const hash = new Uint8Array(hashDnsToken(token));
  const olderKept = dnsLimits.activeTokensPerSession - 1;
  // The rows are locked against the end of the session or membership, whose trigger otherwise could not see the new token.
  const [issued] = await prisma.$queryRaw<{ expiresAt: Date }[]>`
    WITH owner AS MATERIALIZED (
      SELECT least(clock_timestamp() + ${dnsLimits.sessionTokenSeconds}::int * interval '1 s',
                   session.expires_at, session.idle_expires_at) AS ends_at,
             CASE membership.role WHEN 'viewer' THEN ${DNS_READ_SCOPE} ELSE ${DNS_SCOPE} END AS scope
      FROM session JOIN membership ON membership.user_id = session.user_id
      WHERE session.id = ${sessionId}::uuid AND session.user_id = ${userId}::uuid AND membership.team_id = ${teamId}::uuid
        AND session.revoked_at IS NULL
        AND least(session.expires_at, session.idle_expires_at) > ${sqlText(rowClock)}
      FOR SHARE OF session, membership
    ), replaced AS (
      UPDATE dns_token SET revoked_at = clock_timestamp()
      WHERE id IN (SELECT id FROM dns_token
                   WHERE session_id = ${sessionId}::uuid AND team_id = ${teamId}::uuid
                     AND revoked_at IS NULL AND expires_at > ${sqlText(rowClock)}
                   ORDER BY created_at DESC, id OFFSET ${olderKept})
    )
    INSERT INTO dns_token (team_id, created_by, session_id, name, hash, scopes, within_types, expires_at)
    SELECT ${teamId}::uuid, ${userId}::uuid, ${sessionId}::uuid, ${NAME}, ${hash}, ARRAY[scope], ARRAY[]::text[], ends_at
    FROM owner
    RETURNING expires_at AS "expiresAt"`;
  return issued === undefined ? null : { token, expiresAt: issued.expiresAt };
}
