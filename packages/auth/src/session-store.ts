import { clusterLimits, type Role, type SignInMethod } from '@corral/contracts';
import { type Pool, rowClock, type Transaction } from '@corral/database';
import { hashSessionSecret, mintSessionSecret } from './session-cookie.js';

export interface Membership {
  readonly teamId: string;
  /** The number that answers give for the team's id. */
  readonly teamNumber: number;
  readonly slug: string;
  /** Empty: the slug serves as the name. */
  readonly name: string;
  readonly role: Role;
}

/** Who is signed in, and in which teams just now: read anew for every request. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly userNumber: number;
  readonly email: string;
  readonly displayName: string;
  readonly createdAt: Date;
  /** Moves with use; what is written lags behind by the interval of the recorder. */
  readonly idleExpiresAt: Date;
  /** Never moves. */
  readonly expiresAt: Date;
  /** By slug. */
  readonly memberships: readonly Membership[];
}

export interface SessionTimes {
  /** A session ends after so long without use. */
  readonly idleMs: number;
  /** A session ends so long after the sign-in, whatever its use. */
  readonly absoluteMs: number;
}

/** How a session began. */
export interface SessionOrigin {
  readonly method: SignInMethod;
  /** The header of that name; what is too long is cut. */
  readonly userAgent: string;
}

/** A session as its owner sees it. */
export interface SessionRecord extends SessionOrigin {
  readonly id: string;
  readonly createdAt: Date;
  /** Lags behind by the interval of the recorder. */
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
}

export interface StartedSession {
  /** The text of the cookie; it is here and nowhere else. */
  readonly secret: string;
  readonly expiresAt: Date;
}

export interface SessionStore {
  /**
   * Starts a session and ends the one it takes the place of: a sign-in never goes on with an identifier that was
   * known before it.
   */
  start(userId: string, replaced: string | null, origin?: SessionOrigin): Promise<StartedSession>;
  /** @returns null for a session that is unknown, revoked or at its end */
  find(secret: string): Promise<Session | null>;
  /** Ends a session for good, from the next request on. Unknown ones are none of its business. */
  revoke(secret: string): Promise<void>;
  /** A user's sessions that have not ended, newest first: those behind `after`, at most `limit` of them. */
  list(userId: string, page: SessionPage): Promise<SessionRecord[]>;
  /** Ends one session of a user. @returns false when the user has no such session that goes on */
  revokeOne(userId: string, id: string): Promise<boolean>;
  /** Ends all sessions of a user. */
  revokeAll(userId: string): Promise<void>;
}

export interface SessionPage {
  readonly limit: number;
  readonly after: { readonly createdAt: Date; readonly id: string } | null;
}

const startSession = {
  name: 'session-start',
  text: `WITH replaced AS (UPDATE session SET revoked_at = now() WHERE hash = $4 AND revoked_at IS NULL)
         INSERT INTO session (user_id, hash, idle_expires_at, expires_at, method, user_agent)
         VALUES ($1, $2, now() + least($3::bigint, $5::bigint) * interval '1 ms', now() + $5::bigint * interval '1 ms',
                 $6, $7)
         RETURNING expires_at AS "expiresAt"`,
};

const goesOn = `session.revoked_at IS NULL AND least(session.idle_expires_at, session.expires_at) > ${rowClock}`;

/** One look-up by an index for each request; nothing is kept in memory, so a revocation or a new role counts at once. */
const findSession = {
  name: 'session-find',
  text: `SELECT session.id, session.user_id AS "userId", app_user.number AS "userNumber", app_user.email,
                app_user_name(app_user) AS "displayName",
                session.created_at AS "createdAt", session.idle_expires_at AS "idleExpiresAt",
                session.expires_at AS "expiresAt",
                COALESCE((SELECT json_agg(json_build_object('teamId', team.id, 'teamNumber', team.number,
                                                            'slug', team.slug, 'name', team.name,
                                                            'role', membership.role)
                                          ORDER BY team.slug COLLATE "C")
                          FROM membership JOIN team ON team.id = membership.team_id
                          WHERE membership.user_id = session.user_id), '[]') AS memberships
         FROM session JOIN app_user ON app_user.id = session.user_id
         WHERE session.hash = $1 AND ${goesOn}`,
};

const revokeSession = {
  name: 'session-revoke',
  text: 'UPDATE session SET revoked_at = now() WHERE hash = $1 AND revoked_at IS NULL',
};

const listSessions = {
  name: 'session-list',
  text: `SELECT id, method, user_agent AS "userAgent", created_at AS "createdAt", last_seen_at AS "lastSeenAt",
                expires_at AS "expiresAt"
         FROM session
         WHERE user_id = $1 AND ${goesOn}
           AND ($3::timestamptz IS NULL OR created_at < $3 OR (created_at = $3 AND id > $4::uuid))
         ORDER BY created_at DESC, id LIMIT $2`,
};

const revokeOneSession = {
  name: 'session-revoke-one',
  text: `UPDATE session SET revoked_at = now() WHERE id = $2 AND user_id = $1 AND ${goesOn}`,
};

const revokeAllSessions = {
  name: 'session-revoke-all',
  // In the order in which everybody takes many of them.
  text: `WITH held AS MATERIALIZED (
           SELECT id FROM session WHERE user_id = $1::uuid AND revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE
         )
         UPDATE session SET revoked_at = now() FROM held WHERE session.id = held.id`,
};

/** Ends all sessions of a user in a transaction of the caller's. @returns how many */
export const endSessions = (tx: Pick<Transaction, '$executeRawUnsafe'>, userId: string): Promise<number> =>
  tx.$executeRawUnsafe(revokeAllSessions.text, userId);

/** Sessions on Postgres, whose clock is the only one that counts. */
export function sessionStore(pool: Pool, { idleMs, absoluteMs }: SessionTimes): SessionStore {
  return {
    async start(userId, replaced, { method, userAgent } = { method: 'development', userAgent: '' }) {
      const secret = mintSessionSecret();
      const old = replaced === null ? null : hashSessionSecret(replaced);
      const browser = userAgent.slice(0, clusterLimits.userAgentCharacters);
      const values = [userId, hashSessionSecret(secret), idleMs, old, absoluteMs, method, browser];
      const { rows } = await pool.query<{ expiresAt: Date }>({ ...startSession, values });
      return { secret, expiresAt: (rows[0] as { expiresAt: Date }).expiresAt };
    },
    async find(secret) {
      const { rows } = await pool.query<Session>({ ...findSession, values: [hashSessionSecret(secret)] });
      return rows[0] ?? null;
    },
    async revoke(secret) {
      await pool.query({ ...revokeSession, values: [hashSessionSecret(secret)] });
    },
    async list(userId, { limit, after }) {
      const values = [userId, limit, after?.createdAt ?? null, after?.id ?? null];
      return (await pool.query<SessionRecord>({ ...listSessions, values })).rows;
    },
    async revokeOne(userId, id) {
      return (await pool.query({ ...revokeOneSession, values: [userId, id] })).rowCount === 1;
    },
    async revokeAll(userId) {
      await pool.query({ ...revokeAllSessions, values: [userId] });
    },
  };
}
