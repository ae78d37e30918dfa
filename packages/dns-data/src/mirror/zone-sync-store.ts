import { type Prisma, readClock } from '@corral/database';
import type { RrsetKey } from '../rrset.js';
import {
  findContested,
  type Observation,
  type ObserveOptions,
  observeRrsets,
  readMirrored,
  type SetKey,
} from './observe-rrsets.js';

/** One record set read from the upstream. */
export interface ObservedRrset {
  readonly key: RrsetKey;
  /** The upstream's body, null when the set is absent there. */
  readonly found: string | null;
  /** Postgres' clock before the read was sent. */
  readonly readAt: Date;
}

/** Owners of the labels in a zone. */
export type ZoneOwners = 'teams' | 'demos';

export const zoneSyncStore = (prisma: Prisma) => ({
  /** Postgres' clock, which also stamps the writes. */
  readClock: (): Promise<Date> => readClock(prisma),

  /** Saves the zone as stated, and who owns its labels. Fails when the mirror has another zone of that name. */
  async saveZone(
    { id, name, body }: { id: number; name: string; body: string },
    owners: ZoneOwners = 'teams',
  ): Promise<void> {
    const stated = { name, body, ofDemos: owners === 'demos', syncedAt: await readClock(prisma) };
    await prisma.dnsZone.upsert({ where: { id }, create: { id, ...stated }, update: stated });
  },

  /** Whether any walk over the zone has succeeded. Until then differences are an import, not drift. */
  async wasSynced(zoneId: number): Promise<boolean> {
    return (
      (await prisma.dnsSyncRun.findFirst({ where: { zoneId, state: 'succeeded' }, select: { id: true } })) !== null
    );
  },

  /** The mirrored bodies of the given sets, keyed by `name/TYPE`. */
  readBodies: (zoneId: number, keys: readonly SetKey[]): Promise<Map<string, string>> =>
    readMirrored(prisma, zoneId, keys),

  /** Whether a read of the set at that time would prove nothing, so that it can be skipped. */
  async isContested({ zoneId, ...set }: RrsetKey, readAt: Date, graceMs: number): Promise<boolean> {
    return (await findContested(prisma, { zoneId, sets: [set], readAt, graceMs })).size > 0;
  },

  /** Updates the mirror of one set to what was read upstream. See `observeRrsets`. */
  async observe({ key, found, readAt }: ObservedRrset, options: ObserveOptions): Promise<Observation> {
    const { zoneId, name, type } = key;
    const sets = [{ name, type, found }];
    const [observation] = await prisma.$transaction((tx) => observeRrsets(tx, { zoneId, readAt, sets }, options));
    return observation as Observation;
  },

  /**
   * Seconds since a walk over the zone last succeeded in any process. Before the first success, seconds since the first walk began;
   * null when none ever did.
   */
  async readSyncAgeSeconds(zoneName: string): Promise<number | null> {
    const now = await readClock(prisma);
    const succeeded = await prisma.dnsSyncRun.aggregate({
      where: { zoneName, state: 'succeeded' },
      _max: { finishedAt: true },
    });
    const begun = await prisma.dnsSyncRun.aggregate({ where: { zoneName }, _min: { startedAt: true } });
    const since = succeeded._max.finishedAt ?? begun._min.startedAt;
    return since === null ? null : (now.getTime() - since.getTime()) / 1_000;
  },
});
export type ZoneSyncStore = ReturnType<typeof zoneSyncStore>;
