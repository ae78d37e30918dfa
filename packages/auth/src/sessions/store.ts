import { hash, randomBytes } from 'node:crypto';
import { clusterLimits, cutText, type Role, type SignInMethod, type TeamId, type UserId } from '@corral/contracts';
import { isHeldNow, lockRows, type Pool, type Prisma, readClock, rowClock, type Transaction } from '@corral/database';
import { displayNameOf, type PersonNames } from '../people/user-store.js';

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

/** Prisma condition: the session has not ended. @param now the database's clock */
export const isActiveAt = (now: Date) => ({ revokedAt: null, idleExpiresAt: { gt: now }, expiresAt: { gt: now } });

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

/** One indexed look-up per request without a cache, so a revocation or a changed role applies immediately. */
const findSession = {
  name: 'session-by-secret',
  text: `SELECT session.id, session.user_id AS "userId", app_user.number AS "userNumber", app_user.email,
                app_user.display_name AS "displayName", app_user.first_name AS "firstName",
                app_user.last_name AS "lastName",
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
         WHERE session.hash = $1 AND session.revoked_at IS NULL
           AND least(session.idle_expires_at, session.expires_at) > ${rowClock}`,
};

/** Revokes sessions within the caller's transaction. @returns how many */
export async function endSessions(tx: Transaction, which: SessionCondition): Promise<number> {
  const found = await tx.session.findMany({ where: { ...which, revokedAt: null }, select: { id: true } });
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await lockRows(tx, 'session', { id: ids });
  const { count } = await tx.session.updateMany({
    where: { id: { in: ids }, revokedAt: null },
    data: { revokedAt: await readClock(tx) },
  });
  return count;
}

type SessionCondition = NonNullable<Parameters<Transaction['session']['updateMany']>[0]['where']>;

export interface NewSession extends SessionOrigin {
  readonly id?: string;
  readonly userId: UserId;
  readonly name?: string;
}

/**
 * Starts a session. When the person has too many active ones, the oldest end. Concurrent sign-ins do not see each other, so there may
 * be more until the next one.
 *
 * @param replaced the secret of a session that ends as well
 */
export async function startSession(
  tx: Transaction,
  { idleMs, absoluteMs }: SessionTimes,
  { userAgent, ...of }: NewSession,
  replaced: string | null = null,
): Promise<StartedSession> {
  const now = await readClock(tx);
  const after = (ms: number): Date => new Date(now.getTime() + ms);
  const old = replaced === null ? [] : [storedHashOf(replaced)];
  const oldest = await tx.session.findMany({
    where: { userId: of.userId, hash: { notIn: old }, ...isActiveAt(now) },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    skip: clusterLimits.sessionsPerPerson - 1,
    select: { id: true },
  });
  await endSessions(tx, { OR: [{ hash: { in: old } }, { id: { in: oldest.map(({ id }) => id) } }] });
  const secret = mintSessionSecret();
  const expiresAt = after(absoluteMs);
  const times = { createdAt: now, lastSeenAt: now, idleExpiresAt: after(Math.min(idleMs, absoluteMs)), expiresAt };
  const browser = cutText(userAgent, clusterLimits.userAgentCharacters);
  await tx.session.create({
    data: { ...of, ...times, hash: storedHashOf(secret), userAgent: browser },
    select: { id: true },
  });
  return { secret, expiresAt };
}

const listed = {
  id: true,
  method: true,
  name: true,
  userAgent: true,
  createdAt: true,
  lastSeenAt: true,
  expiresAt: true,
} as const;

const isBehind = ({ createdAt, id }: NonNullable<SessionPage['after']>) => ({
  OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { gt: id } }],
});

/** The hash as Prisma takes it. */
export const storedHashOf = (secret: string): Uint8Array<ArrayBuffer> => new Uint8Array(hashSessionSecret(secret));

export type SessionStore = ReturnType<typeof sessionStore>;

/**
 * Sessions in Postgres. Only Postgres' clock is used.
 *
 * @param pool for the look-up of each request
 */
export function sessionStore(pool: Pool, prisma: Prisma, times: SessionTimes) {
  return {
    /** Starts a session and ends the one it replaces, so that a sign-in never continues with an earlier identifier. */
    start: (
      userId: UserId,
      replaced: string | null,
      origin: SessionOrigin = { method: 'development', userAgent: '' },
    ): Promise<StartedSession> => prisma.$transaction((tx) => startSession(tx, times, { userId, ...origin }, replaced)),

    /** @returns null for a session that is unknown, revoked or expired */
    async find(secret: string): Promise<Session | null> {
      const values = [hashSessionSecret(secret)];
      const { rows } = await pool.query<Session & PersonNames>({ ...findSession, values });
      const [row] = rows;
      if (row === undefined) return null;
      const { firstName: _first, lastName: _last, ...session } = row;
      return { ...session, displayName: displayNameOf(row) };
    },

    /** Revokes a session, effective with the next request. Unknown sessions are ignored. */
    async revoke(secret: string): Promise<void> {
      const where = { hash: storedHashOf(secret), revokedAt: null };
      await prisma.session.updateMany({ where, data: { revokedAt: await readClock(prisma) } });
    },

    /** A user's active sessions, newest first: at most `limit` after the position `after`. */
    async list(userId: UserId, { limit, after }: SessionPage): Promise<SessionRecord[]> {
      const rows = await prisma.session.findMany({
        where: { userId, ...isActiveAt(await readClock(prisma)), ...(after !== null && isBehind(after)) },
        orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
        take: limit,
        select: listed,
      });
      return rows.map((row) => ({ ...row, method: row.method as SignInMethod }));
    },

    /** Revokes one session of a user. @returns false when the user has no such active session */
    async revokeOne(userId: UserId, id: string): Promise<boolean> {
      const revokedAt = await readClock(prisma);
      const { count } = await prisma.session.updateMany({
        where: { id, userId, ...isActiveAt(revokedAt) },
        data: { revokedAt },
      });
      return count === 1;
    },

    /** Revokes all sessions of a user. */
    async revokeAll(userId: UserId): Promise<void> {
      await prisma.$transaction((tx) => endSessions(tx, { userId }));
    },
  };
}
