import { asUserId, clusterLimits } from '@corral/contracts';
import { lockRows, type Prisma, readClock, type Transaction } from '@corral/database';
import { endSessions, isActiveAt, mintSessionSecret, type SessionTimes, startSession, storedHashOf } from './store.js';

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

/** A code is stored for so long after its end, to recognise a second use. In ms. */
const KEPT_MS = 600_000;

export type SignInCodeStore = ReturnType<typeof signInCodeStore>;

/** Codes that the command line exchanges for a session of its own, in Postgres. Only Postgres' clock is used. */
export const signInCodeStore = (prisma: Prisma, times: SessionTimes) => ({
  /** @returns the code; null when the session has ended */
  async issue(allowedBy: string, { codeChallenge, redirectUri, name }: SignInRequest): Promise<string | null> {
    const now = await readClock(prisma);
    // A code of a session that ends meanwhile is not redeemed.
    if ((await prisma.session.count({ where: { id: allowedBy, ...isActiveAt(now) } })) === 0) return null;
    const ended = { expiresAt: { lt: new Date(now.getTime() - KEPT_MS) } };
    await prisma.signInCode.deleteMany({ where: { allowedBy, ...ended } });
    const code = mintSessionSecret();
    const expiresAt = new Date(now.getTime() + clusterLimits.signInCodeSeconds * 1_000);
    const data = { codeChallenge, redirectUri, name, allowedBy, hash: storedHashOf(code), createdAt: now, expiresAt };
    await prisma.signInCode.create({ data, select: { hash: true } });
    return code;
  },

  /**
   * Starts the session that a code is for, as `SessionStore.start` does. Whatever the outcome, the code is used up. A second use ends
   * the session: somebody else has the code.
   *
   * @returns null for a code that is unknown, expired, used, of an ended session, or of another request
   */
  redeem: (
    code: string,
    { codeChallenge, redirectUri }: Omit<SignInRequest, 'name'>,
    userAgent: string,
  ): Promise<RedeemedCode | null> =>
    prisma.$transaction<RedeemedCode | null>(async (tx) => {
      const hash = storedHashOf(code);
      const usedAt = await readClock(tx);
      const [used] = await tx.signInCode.updateManyAndReturn({ where: { hash, usedAt: null }, data: { usedAt } });
      if (used === undefined) {
        await endSessionOf(tx, hash);
        return null;
      }
      if (used.codeChallenge !== codeChallenge || used.redirectUri !== redirectUri) return null;
      // The lock is as strong as that of its end, which may follow, and which a shared one of another code would block.
      await lockRows(tx, 'session', { id: used.allowedBy });
      const now = await readClock(tx);
      const allowed = { id: used.allowedBy, ...isActiveAt(now) };
      const owner = await tx.session.findUnique({ where: allowed, select: { userId: true } });
      if (owner === null || used.expiresAt <= now) return null;
      const { startsSession: id, name } = used;
      const origin = { id, userId: asUserId(owner.userId), name, method: 'command_line', userAgent } as const;
      const { secret, expiresAt } = await startSession(tx, times, origin);
      return { secret, expiresInSeconds: Math.floor((expiresAt.getTime() - now.getTime()) / 1_000) };
    }),
});

/** Ends the session that a code has started. */
async function endSessionOf(tx: Transaction, hash: Uint8Array<ArrayBuffer>): Promise<void> {
  const code = await tx.signInCode.findUnique({ where: { hash }, select: { startsSession: true } });
  if (code !== null) await endSessions(tx, { id: code.startsSession });
}
