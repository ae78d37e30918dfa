import { clusterLimits, cutText } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import { endOldest, hashSessionSecret, isActiveSession, mintSessionSecret, type SessionTimes } from './store.js';

/** What a person allows in their browser. */
export interface SignInRequest {
  /** S256 challenge (RFC 7636). */
  readonly codeChallenge: string;
  readonly redirectUri: string;
  /** Name of the session to start. */
  readonly name: string;
}

export interface RedeemedCode {
  /** The only place where the text of the session's cookie is available. */
  readonly secret: string;
  /** Seconds until the session ends, whatever its use. */
  readonly expiresInSeconds: number;
}

/** A code is stored for so long after its end, to recognise a second use. */
const KEPT_MINUTES = 10;

/** The session is locked against its end, so that no code of an ended session stays valid. */
const issueCode = {
  text: `WITH owner AS MATERIALIZED (
           SELECT id FROM session WHERE id = $1::uuid AND ${isActiveSession} FOR SHARE
         ), old AS (
           DELETE FROM sign_in_code
           WHERE allowed_by = $1::uuid AND expires_at < now() - interval '${KEPT_MINUTES} minutes'
         )
         INSERT INTO sign_in_code (hash, allowed_by, code_challenge, redirect_uri, name, expires_at)
         SELECT $2, id, $3, $4, $5, clock_timestamp() + ${clusterLimits.signInCodeSeconds} * interval '1 s' FROM owner
         RETURNING 1`,
};

const redeemCode = {
  text: `WITH code AS (
           UPDATE sign_in_code SET used_at = clock_timestamp() WHERE hash = $1 AND used_at IS NULL RETURNING *
         ), allowed AS MATERIALIZED (
           SELECT session.user_id, code.starts_session, code.name
           FROM code JOIN session ON session.id = code.allowed_by
           WHERE code.code_challenge = $2 AND code.redirect_uri = $3 AND code.expires_at > clock_timestamp()
             AND ${isActiveSession}
           -- The same lock as that of its end below, which a shared one of another code would block.
           FOR NO KEY UPDATE OF session
         ), ${endOldest('SELECT user_id FROM allowed', 'SELECT NULL::uuid AS id WHERE false')}
         INSERT INTO session (id, user_id, hash, idle_expires_at, expires_at, method, name, user_agent)
         SELECT starts_session, user_id, $4, now() + least($5::bigint, $6::bigint) * interval '1 ms',
                now() + $6::bigint * interval '1 ms', 'command_line', name, $7
         FROM allowed
         RETURNING floor(extract(epoch FROM expires_at - ${rowClock}))::int AS "expiresInSeconds"`,
};

const endSessionOfUsedCode = {
  text: `UPDATE session SET revoked_at = now()
         WHERE id = (SELECT starts_session FROM sign_in_code WHERE hash = $1 AND used_at IS NOT NULL)
           AND revoked_at IS NULL`,
};

export type SignInCodeStore = ReturnType<typeof signInCodeStore>;

/** Codes that the command line exchanges for a session of its own, in Postgres. Only Postgres' clock is used. */
export function signInCodeStore(pool: Pool, { idleMs, absoluteMs }: SessionTimes) {
  return {
    /** @returns the code; null when the session has ended */
    async issue(sessionId: string, { codeChallenge, redirectUri, name }: SignInRequest): Promise<string | null> {
      const code = mintSessionSecret();
      const values = [sessionId, hashSessionSecret(code), codeChallenge, redirectUri, name];
      return (await pool.query({ ...issueCode, values })).rowCount === 1 ? code : null;
    },

    /**
     * Starts the session that a code is for, as `SessionStore.start` does. Whatever the outcome, the code is used up. A second use ends
     * the session: somebody else has the code.
     *
     * @returns null for a code that is unknown, expired, used, of an ended session, or of another request
     */
    async redeem(
      code: string,
      { codeChallenge, redirectUri }: Omit<SignInRequest, 'name'>,
      userAgent: string,
    ): Promise<RedeemedCode | null> {
      const secret = mintSessionSecret();
      const browser = cutText(userAgent, clusterLimits.userAgentCharacters);
      const values = [
        hashSessionSecret(code),
        codeChallenge,
        redirectUri,
        hashSessionSecret(secret),
        idleMs,
        absoluteMs,
        browser,
      ];
      const { rows } = await pool.query<{ expiresInSeconds: number }>({ ...redeemCode, values });
      if (rows[0] !== undefined) return { secret, ...rows[0] };
      await pool.query({ ...endSessionOfUsedCode, values: [hashSessionSecret(code)] });
      return null;
    },
  };
}
