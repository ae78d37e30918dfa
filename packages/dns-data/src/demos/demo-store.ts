import { DNS_SCOPE, hashDnsToken, mintDnsToken } from '@corral/auth';
import { asTeamId, type TeamId } from '@corral/contracts';
import { lockRows, type Prisma, readClock, sql, type Transaction } from '@corral/database';
import { countMirrored, lockOwner } from '../writes/owner-entries.js';
import { hashCourseCode } from './course-code.js';
import {
  concludeEnds,
  type DemoAsking,
  type DemoRecord,
  isLiveAt,
  noteDemos,
  noted,
  releaseLabels,
} from './demo-rows.js';
import { extendedExpiry, secondsAfter } from './rules.js';

/** The creator of a demo: a team by one of its tokens, or the holder of a course code. */
export type DemoMaker =
  | { readonly kind: 'team'; readonly teamId: TeamId; readonly tokenId: string }
  | {
      readonly kind: 'course';
      readonly code: string;
      /** Client address: IPv4, or the /64 network for IPv6. */
      readonly address: string;
    };

interface NewDemo {
  readonly zoneId: number;
  readonly label: string;
  readonly name: string;
  readonly ttlSeconds: number;
}

export type CreateOutcome =
  /** The only place where the token's text is available. */
  | { kind: 'created'; demo: DemoRecord; token: string }
  /** The code does not exist or is inactive. The answer does not say which. */
  | { kind: 'unknown_course' }
  /** The team, the course, or the address within the course has reached its limit of live demos. */
  | { kind: 'full'; of: 'team' | 'course' | 'address'; max: number }
  /** The label belongs to another demo, was freed too recently, or has records that no demo created. */
  | { kind: 'taken' };

/** The demos a caller may access: all of a team, or the one that a demo token belongs to. */
export type DemoReach = { readonly teamId: TeamId } | { readonly demoId: string };

interface DemoStoreOptions {
  readonly demosPerTeam: number;
  /** Time for which the caller that ended a demo may delete its records; afterwards the reconciler deletes the rest. */
  readonly clearLeaseMs: number;
}

interface Maker {
  readonly teamId: TeamId | null;
  readonly courseCodeId: string | null;
  readonly address: string | null;
  readonly max: number;
  readonly perAddressMax: number;
}

const inReach = (reach: DemoReach, label: string, now: Date) =>
  'teamId' in reach ? { label, teamId: reach.teamId, ...isLiveAt(now) } : { label, id: reach.demoId, ...isLiveAt(now) };

export const demoStore = (prisma: Prisma, { demosPerTeam, clearLeaseMs }: DemoStoreOptions) => ({
  /** Creates a demo and its token unless the label is taken or a limit is reached. Safe under concurrency. */
  create(maker: DemoMaker, wanted: NewDemo, requestId: string): Promise<CreateOutcome> {
    return prisma.$transaction<CreateOutcome>(async (tx) => {
      const locked = await lockMaker(tx, maker, demosPerTeam);
      if (locked === null) return { kind: 'unknown_course' };
      const now = await readClock(tx);
      const full = await fullness(tx, maker, locked, now);
      if (full !== null) return full;
      // If it is already due, the request need not wait for the reconciler.
      await releaseLabels(tx, sql`zone_id = ${wanted.zoneId} AND label = ${wanted.label}`);
      const created = await insertDemo(tx, locked, wanted, now);
      if (created === null) return { kind: 'taken' };
      const token = await insertToken(tx, created, now);
      await noteDemos(tx, [created], creationOf(maker, wanted, requestId), now);
      return { kind: 'created', demo: await recordOf(tx, created), token };
    });
  },

  /** The team's live demos, oldest first. */
  async list(teamId: TeamId): Promise<DemoRecord[]> {
    const where = { teamId, ...isLiveAt(await readClock(prisma)) };
    const rows = await prisma.demo.findMany({ where, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }], select: shown });
    const counted = await prisma.dnsRrset.groupBy({
      by: ['zoneId', 'ownerLabel'],
      where: { OR: rows.map(({ zoneId, label }) => ({ zoneId, ownerLabel: label })) },
      _sum: { recordCount: true },
    });
    const records = new Map(
      counted.map(({ zoneId, ownerLabel, _sum }) => [`${zoneId}/${ownerLabel}`, _sum.recordCount]),
    );
    return rows.map((row) => demoRecord(row, records.get(`${row.zoneId}/${row.label}`) ?? 0));
  },

  /** Null when no live demo within reach has the label. */
  async find(reach: DemoReach, label: string): Promise<DemoRecord | null> {
    const where = inReach(reach, label, await readClock(prisma));
    const row = await prisma.demo.findFirst({ where, select: shown });
    return row === null ? null : recordOf(prisma, row);
  },

  /** Sets the expiry to `ttlSeconds` from now, capped at the longest lifetime. Null as for `find`. */
  extend(reach: DemoReach, label: string, ttlSeconds: number, by: DemoAsking): Promise<DemoRecord | null> {
    return prisma.$transaction<DemoRecord | null>(async (tx) => {
      const now = await readClock(tx);
      const where = inReach(reach, label, now);
      const found = await tx.demo.findFirst({ where, select: { id: true, createdAt: true } });
      if (found === null) return null;
      const expiresAt = extendedExpiry(found.createdAt, now, ttlSeconds);
      const [extended] = await tx.demo.updateManyAndReturn({
        where: { ...where, id: found.id },
        data: { ttlSeconds, expiresAt },
        select: shown,
      });
      if (extended === undefined) return null;
      const requestBody = JSON.stringify({ ttl: ttlSeconds });
      await noteDemos(tx, [extended], { actor: 'token', operation: 'extend', requestBody, ...by }, now);
      return recordOf(tx, extended);
    });
  },

  /**
   * Ends a demo: its token is revoked and no new write begins. Its records remain; only the caller may delete them for
   * `clearLeaseMs`. Null as for `find`.
   */
  end(reach: DemoReach, label: string, by: DemoAsking): Promise<DemoRecord | null> {
    return prisma.$transaction<DemoRecord | null>(async (tx) => {
      const now = await readClock(tx);
      const [ended] = await tx.demo.updateManyAndReturn({
        where: inReach(reach, label, now),
        data: { endedAt: now, clearAt: new Date(now.getTime() + clearLeaseMs), madeFrom: null },
        select: shown,
      });
      if (ended === undefined) return null;
      await concludeEnds(tx, [ended], { actor: 'token', operation: 'delete', requestBody: null, ...by }, now);
      return recordOf(tx, ended);
    });
  },
});
export type DemoStore = ReturnType<typeof demoStore>;

const shown = {
  ...noted,
  name: true,
  ttlSeconds: true,
  createdAt: true,
  expiresAt: true,
  zone: { select: { name: true } },
} as const;

type DemoRow = Omit<DemoRecord, 'teamId' | 'zoneId' | 'zoneName' | 'records'> & {
  readonly teamId: string | null;
  readonly zoneId: bigint;
  readonly zone: { readonly name: string };
};

async function recordOf(db: Transaction, row: DemoRow): Promise<DemoRecord> {
  return demoRecord(row, await countMirrored(db, Number(row.zoneId), row.label));
}

function demoRecord({ teamId, zoneId, zone, ...demo }: DemoRow, records: number): DemoRecord {
  const ofTeam = teamId === null ? null : asTeamId(teamId);
  return { ...demo, teamId: ofTeam, zoneId: Number(zoneId), zoneName: zone.name, records };
}

/**
 * Locks the row of the team or the course until the end of the transaction, which serializes counting and inserting.
 */
async function lockMaker(tx: Transaction, maker: DemoMaker, demosPerTeam: number): Promise<Maker | null> {
  if (maker.kind === 'team') {
    await lockOwner(tx, { kind: 'team', id: maker.teamId });
    return { teamId: maker.teamId, courseCodeId: null, address: null, max: demosPerTeam, perAddressMax: demosPerTeam };
  }
  const hash = hashCourseCode(maker.code);
  await lockRows(tx, 'course_code', { hash });
  const course = await tx.courseCode.findUnique({ where: { hash, deactivatedAt: null } });
  if (course === null) return null;
  const { id: courseCodeId, liveDemosMax: max, liveDemosPerAddressMax: perAddressMax } = course;
  return { teamId: null, courseCodeId, address: maker.address, max, perAddressMax };
}

/** Finds which limit of live demos is reached; null for none. */
async function fullness(
  tx: Transaction,
  { kind }: DemoMaker,
  { teamId, courseCodeId, address, max, perAddressMax }: Maker,
  now: Date,
): Promise<Extract<CreateOutcome, { kind: 'full' }> | null> {
  const mine = { ...(teamId === null ? { courseCodeId } : { teamId }), ...isLiveAt(now) };
  if ((await tx.demo.count({ where: mine })) >= max) return { kind: 'full', of: kind, max };
  if (address === null) return null;
  const ofAddress = await tx.demo.count({ where: { ...mine, madeFrom: address } });
  return ofAddress >= perAddressMax ? { kind: 'full', of: 'address', max: perAddressMax } : null;
}

/** Null when the label is taken. */
async function insertDemo(
  tx: Transaction,
  { teamId, courseCodeId, address }: Maker,
  { zoneId, label, name, ttlSeconds }: NewDemo,
  now: Date,
): Promise<DemoRow | null> {
  if ((await tx.dnsRrset.count({ where: { zoneId, ownerLabel: label } })) > 0) return null;
  const made = { teamId, courseCodeId, madeFrom: address, createdAt: now, expiresAt: secondsAfter(now, ttlSeconds) };
  const [demo = null] = await tx.demo.createManyAndReturn({
    data: [{ zoneId, label, name, ttlSeconds, ...made }],
    skipDuplicates: true,
    select: shown,
  });
  return demo;
}

/** The token has no expiry. The demo's expiry applies, so the two cannot differ. @returns its text */
async function insertToken(tx: Transaction, { id, label }: DemoRow, now: Date): Promise<string> {
  const token = mintDnsToken();
  const hash = new Uint8Array(hashDnsToken(token));
  const of = { demoId: id, name: `demo ${label}`, scopes: [DNS_SCOPE], withinTypes: [] };
  await tx.dnsToken.create({ data: { ...of, hash, createdAt: now }, select: { id: true } });
  return token;
}

const creationOf = (maker: DemoMaker, { name, ttlSeconds }: NewDemo, requestId: string) =>
  ({
    actor: maker.kind === 'team' ? 'token' : 'course',
    tokenId: maker.kind === 'team' ? maker.tokenId : null,
    operation: 'create',
    requestBody: JSON.stringify({ name, ttl: ttlSeconds }),
    requestId,
  }) as const;
