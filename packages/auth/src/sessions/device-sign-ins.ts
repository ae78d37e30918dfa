import { randomInt } from 'node:crypto';
import { asUserId, clusterLimits, cutText, newUserCode } from '@corral/contracts';
import { lockRows, type Prisma, readClock, type Transaction } from '@corral/database';
import { type PollRefusal, pauseAfter, refusalOfPoll } from './poll-rule.js';
import type { RedeemedCode } from './sign-in-codes.js';
import { isActiveAt, mintSessionSecret, type SessionTimes, startSession, storedHashOf } from './store.js';

/** What a machine says of itself, and from where. */
export interface AskingDevice {
  /** Name of the session to start. */
  readonly name: string;
  /** IP address. */
  readonly address: string;
  readonly userAgent: string;
}

/** A sign-in on which nobody has decided. */
export interface DeviceSignInRecord extends AskingDevice {
  /** The id of the sign-in, and of the session that it starts. */
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface DeviceCodes {
  /** The only place where the text of the device code is available. */
  readonly deviceCode: string;
  readonly userCode: string;
}

export type DeviceSignInStore = ReturnType<typeof deviceSignInStore>;

const shown = { id: true, name: true, address: true, userAgent: true, createdAt: true, expiresAt: true } as const;
const undecidedAt = (now: Date) => ({ decidedAt: null, expiresAt: { gt: now } });

/** Sign-ins of machines without a browser (RFC 8628), in Postgres. Only Postgres' clock is used. */
export const deviceSignInStore = (prisma: Prisma, times: SessionTimes) => ({
  async begin({ userAgent, ...device }: AskingDevice): Promise<DeviceCodes> {
    const now = await readClock(prisma);
    const codes = { deviceCode: mintSessionSecret(), userCode: newUserCode(randomInt) };
    await prisma.deviceSignIn.create({
      data: {
        ...device,
        userAgent: cutText(userAgent, clusterLimits.userAgentCharacters),
        hash: storedHashOf(codes.deviceCode),
        // One of 20^8. Those of a day are unique; a second one is an error of one request.
        userCode: codes.userCode,
        pollSeconds: clusterLimits.devicePollSeconds,
        createdAt: now,
        expiresAt: new Date(now.getTime() + clusterLimits.deviceCodeSeconds * 1_000),
      },
      select: { id: true },
    });
    return codes;
  },

  /** @returns null for a code that is unknown, expired or decided */
  async find(userCode: string): Promise<DeviceSignInRecord | null> {
    const where = { userCode, ...undecidedAt(await readClock(prisma)) };
    return prisma.deviceSignIn.findUnique({ where, select: shown });
  },

  /**
   * Decides in the caller's transaction. The first decision stands.
   *
   * @param allowedBy the session of the person who allows it; null to refuse
   * @returns null for a code that is unknown, expired or decided
   */
  async decide(tx: Transaction, userCode: string, allowedBy: string | null): Promise<DeviceSignInRecord | null> {
    const decidedAt = await readClock(tx);
    const where = { userCode, ...undecidedAt(decidedAt) };
    const data = { decidedAt, allowedBy };
    const [decided] = await tx.deviceSignIn.updateManyAndReturn({ where, data, select: shown });
    return decided ?? null;
  },

  /** Starts the session that a code is for, as `SessionStore.start` does: once, and only if it was allowed. */
  poll: (deviceCode: string, userAgent: string): Promise<RedeemedCode | PollRefusal> =>
    prisma.$transaction<RedeemedCode | PollRefusal>(async (tx) => {
      const hash = storedHashOf(deviceCode);
      // Polls at the same time see each other.
      await lockRows(tx, 'device_sign_in', { hash });
      const code = await tx.deviceSignIn.findUnique({ where: { hash } });
      if (code === null) return 'invalid_grant';
      const now = await readClock(tx);
      const refusal = refusalOfPoll(code, now);
      const { id, name, allowedBy } = code;
      const pollSeconds = pauseAfter(refusal, code.pollSeconds);
      const usedAt = refusal === null ? now : code.usedAt;
      await tx.deviceSignIn.update({
        where: { hash },
        data: { polledAt: now, pollSeconds, usedAt },
        select: { id: true },
      });
      if (refusal !== null) return refusal;
      // The lock is as strong as that of its end, which may follow, and which a shared one of another code would block.
      await lockRows(tx, 'session', { id: allowedBy as string });
      const allowed = { id: allowedBy as string, ...isActiveAt(await readClock(tx)) };
      const owner = await tx.session.findUnique({ where: allowed, select: { userId: true } });
      if (owner === null) return 'expired_token';
      const origin = { id, userId: asUserId(owner.userId), name, method: 'command_line', userAgent } as const;
      const { secret, expiresAt } = await startSession(tx, times, origin);
      return { secret, expiresInSeconds: Math.floor((expiresAt.getTime() - now.getTime()) / 1_000) };
    }),
});
