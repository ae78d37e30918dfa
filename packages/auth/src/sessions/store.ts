import { hash, randomBytes } from 'node:crypto';
import { clusterLimits, cutText, type Role, type SignInMethod, type TeamId, type UserId } from '@corral/contracts';
import { isHeldNow, type Pool, rowClock, type Transaction } from '@corral/database';

export const SESSION_COOKIE = 'sessionid';
const SECRET_BYTES = 32;
/** 32 bytes in base64url. */
const wellFormed = /^[\w-]{43}$/;

/** Creates the text of a session cookie: 256 random bits without any meaning. */
export function mintSessionSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** The stored form of the cookie's text. A fast hash is enough because the text is random. */
export function hashSessionSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/**
 * Reads the session cookie of a request (RFC 6265 section 4.2.1).
 *
 * @returns null when there is none, when it is malformed, or when there is more than one: a page of a sibling domain
 *   can plant a second one, and the right one cannot be identified
 */
export function sessionSecretOf(cookieHeader: string | undefined): string | null {
  const prefix = `${SESSION_COOKIE}=`;
  const found = (cookieHeader ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  const secret = found.length === 1 ? (found[0] as string).slice(prefix.length) : '';
  return wellFormed.test(secret) ? secret : null;
}

export interface Membership {
  readonly teamId: TeamId;
  /** Public id of the team in answers. */
  readonly teamNumber: number;
  readonly slug: string;
  /** Empty when the slug serves as the name. */
  readonly name: string;
  readonly role: Role;
  /** Whether operators have suspended the team, so that it can only read. */
  readonly isSuspended: boolean;
}

/** The signed-in user and current memberships, read for every request. */
export interface Session {
  readonly id: string;
  readonly userId: UserId;
  readonly userNumber: number;
  readonly email: string;
  readonly displayName: string;
  readonly createdAt: Date;
  /** Extended with use; the stored value lags by the recorder's interval. */
  readonly idleExpiresAt: Date;
  /** Fixed. */
  readonly expiresAt: Date;
  /** Ordered by slug. */
  readonly memberships: readonly Membership[];
  /** Whether a hold is in force. Read with the session, because every change needs both. */
  readonly isHeld: boolean;
}

export interface SessionTimes {
  /** Idle time after which a session ends. */
  readonly idleMs: number;
  /** Lifetime of a session, whatever its use. */
  readonly absoluteMs: number;
}

/** How a session began. */
export interface SessionOrigin {
  readonly method: SignInMethod;
  /** The User-Agent header, truncated. */
  readonly userAgent: string;
}

/** Whether a row of `session` has not ended, as SQL. */
export const isActiveSession = `session.revoked_at IS NULL AND least(session.idle_expires_at, session.expires_at) > ${rowClock}`;

/** A session as its owner sees it. */
export interface SessionRecord extends SessionOrigin {
  readonly id: string;
  /** What its owner allowed to sign in; null for a browser. */
  readonly name: string | null;
  readonly createdAt: Date;
  /** Lags by the recorder's interval. */
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
}

export interface StartedSession {
  /** The only place where the text of the cookie is available. */
  readonly secret: string;
  readonly expiresAt: Date;
}

export interface SessionPage {
  readonly limit: number;
  readonly after: { readonly createdAt: Date; readonly id: string } | null;
}

/**
 * Parts of a statement that starts a session. They end the oldest sessions of its person beyond the bound, and others. Concurrent
 * sign-ins do not see each other, so there may be more until the next one.
 *
 * @param person SQL: a query for the `user_id`
 * @param also SQL: a query for the ids of the others
 */
export const endOldest = (person: string, also: string): string => `
  also AS MATERIALIZED (${also}),
  ending AS MATERIALIZED (
    SELECT id FROM session
    WHERE revoked_at IS NULL AND id IN (
      SELECT id FROM also
      UNION ALL (SELECT id FROM session WHERE user_id = (${person}) AND ${isActiveSession} AND id NOT IN (SELECT id FROM also)
                 ORDER BY created_at DESC, id OFFSET ${clusterLimits.sessionsPerPerson - 1}))
    -- Fixed lock order, to avoid deadlocks.
    ORDER BY id FOR NO KEY UPDATE
  ), ended AS (
    UPDATE session SET revoked_at = now() FROM ending WHERE session.id = ending.id
  )`;

const startSession = {
  text: `WITH ${endOldest('SELECT $1::uuid', 'SELECT id FROM session WHERE hash = $4')}
         INSERT INTO session (user_id, hash, idle_expires_at, expires_at, method, user_agent)
         VALUES ($1, $2, now() + least($3::bigint, $5::bigint) * interval '1 ms', now() + $5::bigint * interval '1 ms',
                 $6, $7)
         RETURNING expires_at AS "expiresAt"`,
};

/** One indexed look-up per request without a cache, so a revocation or a changed role applies immediately. */
const findSession = {
  name: 'session-by-secret',
  text: `SELECT session.id, session.user_id AS "userId", app_user.number AS "userNumber", app_user.email,
                app_user_name(app_user) AS "displayName",
                session.created_at AS "createdAt", session.idle_expires_at AS "idleExpiresAt",
                session.expires_at AS "expiresAt",
                COALESCE((SELECT json_agg(json_build_object('teamId', team.id, 'teamNumber', team.number,
                                                            'slug', team.slug, 'name', team.name,
                                                            'role', membership.role,
                                                            'isSuspended', team.suspended_at IS NOT NULL)
                                          ORDER BY team.slug COLLATE "C")
                          FROM membership JOIN team ON team.id = membership.team_id
                          WHERE membership.user_id = session.user_id), '[]') AS memberships,
                ${isHeldNow} AS "isHeld"
         FROM session JOIN app_user ON app_user.id = session.user_id
         WHERE session.hash = $1 AND ${isActiveSession}`,
};

const revokeSession = {
  text: 'UPDATE session SET revoked_at = now() WHERE hash = $1 AND revoked_at IS NULL',
};

const listSessions = {
  text: `SELECT id, method, name, user_agent AS "userAgent", created_at AS "createdAt", last_seen_at AS "lastSeenAt",
                expires_at AS "expiresAt"
         FROM session
         WHERE user_id = $1 AND ${isActiveSession}
           AND ($3::timestamptz IS NULL OR created_at < $3 OR (created_at = $3 AND id > $4::uuid))
         ORDER BY created_at DESC, id LIMIT $2`,
};

const revokeOneSession = {
  text: `UPDATE session SET revoked_at = now() WHERE id = $2 AND user_id = $1 AND ${isActiveSession}`,
};

const revokeAllSessions = {
  // Fixed lock order, to avoid deadlocks.
  text: `WITH held AS MATERIALIZED (
           SELECT id FROM session WHERE user_id = $1::uuid AND revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE
         )
         UPDATE session SET revoked_at = now() FROM held WHERE session.id = held.id`,
};

/** Revokes all sessions of a user within the caller's transaction. @returns how many */
export const endSessions = (tx: Transaction, userId: UserId): Promise<number> =>
  tx.$executeRawUnsafe(revokeAllSessions.text, userId);

export type SessionStore = ReturnType<typeof sessionStore>;

/** Sessions in Postgres. Only Postgres' clock is used. */
export function sessionStore(pool: Pool, { idleMs, absoluteMs }: SessionTimes) {
  return {
    /**
     * Starts a session and ends the one it replaces, so that a sign-in never continues with an earlier identifier. When the person has
     * too many active ones, the oldest end.
     */
    async start(
      userId: UserId,
      replaced: string | null,
      { method, userAgent }: SessionOrigin = { method: 'development', userAgent: '' },
    ): Promise<StartedSession> {
      const secret = mintSessionSecret();
      const old = replaced === null ? null : hashSessionSecret(replaced);
      const browser = cutText(userAgent, clusterLimits.userAgentCharacters);
      const values = [userId, hashSessionSecret(secret), idleMs, old, absoluteMs, method, browser];
      const { rows } = await pool.query<{ expiresAt: Date }>({ ...startSession, values });
      return { secret, expiresAt: (rows[0] as { expiresAt: Date }).expiresAt };
    },

    /** @returns null for a session that is unknown, revoked or expired */
    async find(secret: string): Promise<Session | null> {
      const { rows } = await pool.query<Session>({ ...findSession, values: [hashSessionSecret(secret)] });
      return rows[0] ?? null;
    },

    /** Revokes a session, effective with the next request. Unknown sessions are ignored. */
    async revoke(secret: string): Promise<void> {
      await pool.query({ ...revokeSession, values: [hashSessionSecret(secret)] });
    },

    /** A user's active sessions, newest first: at most `limit` after the position `after`. */
    async list(userId: UserId, { limit, after }: SessionPage): Promise<SessionRecord[]> {
      const values = [userId, limit, after?.createdAt ?? null, after?.id ?? null];
      return (await pool.query<SessionRecord>({ ...listSessions, values })).rows;
    },

    /** Revokes one session of a user. @returns false when the user has no such active session */
    async revokeOne(userId: UserId, id: string): Promise<boolean> {
      return (await pool.query({ ...revokeOneSession, values: [userId, id] })).rowCount === 1;
    },

    /** Revokes all sessions of a user. */
    async revokeAll(userId: UserId): Promise<void> {
      await pool.query({ ...revokeAllSessions, values: [userId] });
    },
  };
}
