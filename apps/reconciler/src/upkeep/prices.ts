import { isDeepStrictEqual } from 'node:util';
import {
  type ConnectionToken,
  connectionTokenOf,
  keepConnection,
  lockClustersOf,
  requestVerification,
} from '@corral/cluster-data';
import { asTeamId, type TeamId } from '@corral/contracts';
import { readClock } from '@corral/database';
import type { NodePrices, PricesReading } from '@corral/hcloud';
import { aroundMs, backoffMs, type Log, spreadMs } from '@corral/service';
import { claimRows, timeIn } from '../loop/claim.js';
import { type OpenToken, openOrReport } from '../loop/provider-token.js';
import { inBatches } from '../loop/work.js';
import type { Database } from '../services.js';

interface RefreshDeps {
  readonly store: PriceStore;
  /** @throws when the key that encrypted the token is missing */
  readonly openToken: OpenToken;
  readonly readPrices: (token: string) => Promise<PricesReading>;
  readonly onRead: (outcome: PricesReading['kind'] | 'unreadable') => void;
  readonly log: Log;
}

const BATCH = 20;
/** Longer than a reading. */
const CLAIM_MS = 60_000;
const DAY_MS = 86_400_000;
const retry = { firstMs: 60_000, maxMs: 6 * 3_600_000 };

/**
 * Reads the price lists of connections that became ready, got another token, or were last read a day ago. While the provider
 * does not answer, the last list stays.
 *
 * @returns the number of lists requested
 */
export const refreshPrices =
  (deps: RefreshDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, CLAIM_MS);
    return inBatches({ claim, work: (due) => refreshOne(deps, due), size: BATCH }, signal);
  };

async function refreshOne(deps: RefreshDeps, due: DuePrices): Promise<void> {
  const { store, onRead, log } = deps;
  const { connectionId, failures } = due;
  const reading = await readingOf(deps, due);
  onRead(reading.kind);
  const againMs = nextReadingMs(reading, failures, Math.random());
  if (reading.kind === 'read') {
    const { currency, prices } = reading;
    const hasChanged = await store.keep(due, { currency, prices, againMs });
    if (hasChanged) log.info('prices have changed', { connectionId, currency });
    return;
  }
  if (reading.kind === 'unavailable') log.warn('prices not read', { connectionId, reason: reading.reason });
  await store.putOff(due, againMs);
  if (reading.kind === 'refused') await store.requestVerification(due);
}

async function readingOf(deps: RefreshDeps, due: DuePrices) {
  const token = openOrReport(deps, due);
  return token === null ? ({ kind: 'unreadable' } as const) : deps.readPrices(token);
}

/**
 * Delay until the next reading in milliseconds: about a day after a success. After a failure it grows, and is at least the
 * provider's Retry-After.
 *
 * @param random in [0, 1], so that connections created together are not read together
 */
export function nextReadingMs(
  reading: PricesReading | { readonly kind: 'unreadable' },
  failures: number,
  random: number,
): number {
  if (reading.kind === 'read') return aroundMs(DAY_MS, random);
  const asked = reading.kind === 'throttled' ? Math.min(retry.maxMs, reading.retryAfterMs ?? 0) : 0;
  return spreadMs(Math.max(backoffMs(failures, retry), asked), random);
}

/** A connection whose price list is to be read. */
interface DuePrices extends ConnectionToken {
  readonly teamId: TeamId;
  readonly tokenVersion: number;
  /** Number of consecutive failures. */
  readonly failures: number;
}

const ofReadyConnections = {
  table: 'price_list',
  key: 'connection_id',
  due: 'due_at',
  when: `EXISTS (SELECT FROM connection WHERE connection.id = connection_id AND phase = 'Ready')`,
};

export const priceStore = ({ pool, prisma }: Database) => ({
  /**
   * Claims ready connections with due prices. They are due again after `retryMs` unless an outcome is recorded. A connection that has
   * become ready, whoever found that out, gets its row here.
   */
  async claimDue(limit: number, retryMs: number): Promise<DuePrices[]> {
    const unread = { where: { phase: 'Ready', priceList: null }, select: { id: true }, take: limit } as const;
    const found = await prisma.connection.findMany(unread);
    if (found.length > 0) {
      const dueAt = await readClock(prisma);
      const data = found.map(({ id }) => ({ connectionId: id, dueAt }));
      await prisma.priceList.createMany({ data, skipDuplicates: true });
    }
    const claimed = await claimRows(prisma, ofReadyConnections, { limit, retryMs });
    if (claimed.size === 0) return [];
    const rows = await prisma.connection.findMany({
      where: { id: { in: [...claimed.keys()] } },
      include: { priceList: true },
    });
    return rows.map((row) => ({
      ...connectionTokenOf({ ...row, connectionId: row.id }),
      teamId: asTeamId(row.teamId),
      tokenVersion: row.tokenVersion,
      failures: row.priceList?.failures ?? 0,
    }));
  },

  /**
   * Stores a price list. Equal prices change only the time of the next reading. Different prices appear in responses about the
   * connection's clusters, and change their entity tags. Nothing is stored for a replaced token, because the prices of the new one
   * are due.
   *
   * @returns whether the prices have changed
   */
  async keep(
    { teamId, connectionId, tokenVersion }: DuePrices,
    { currency, prices, againMs }: { currency: string; prices: NodePrices; againMs: number },
  ): Promise<boolean> {
    return prisma.$transaction(async (tx) => {
      // A token that is being replaced is waited for here, so that the statement that compares its version sees the new one.
      await lockClustersOf(tx, connectionId);
      await keepConnection(tx, teamId, connectionId);
      const where = { connectionId, connection: { tokenVersion } };
      const before = await tx.priceList.findFirst({ where });
      if (before === null) return false;
      const hasChanged = before.currency !== currency || !isDeepStrictEqual(before.prices, prices);
      const now = await readClock(tx);
      const priced = hasChanged && { currency, prices: prices as object, pricedAt: now };
      const dueAt = new Date(now.getTime() + againMs);
      await tx.priceList.updateMany({ where, data: { ...priced, failures: 0, dueAt } });
      if (hasChanged) await tx.cluster.updateMany({ where: { connectionId }, data: { revision: { increment: 1 } } });
      return hasChanged;
    });
  },

  /** Keeps the existing list. */
  async putOff({ connectionId, tokenVersion }: DuePrices, againMs: number): Promise<void> {
    await prisma.priceList.updateMany({
      where: { connectionId, connection: { tokenVersion } },
      data: { failures: { increment: 1 }, dueAt: await timeIn(prisma, againMs) },
    });
  },

  /** The provider refused the token when the prices were read. */
  requestVerification: (due: DuePrices): Promise<void> => requestVerification(pool, due, 'price list'),
});
type PriceStore = ReturnType<typeof priceStore>;
