import { createHash } from 'node:crypto';
import { dnsLimits, type TeamId } from '@corral/contracts';
import { lockRows, readClock, type Transaction } from '@corral/database';
import { lockOwner } from '../writes/owner-entries.js';
import { byService, concludeEnds, isLiveAt, noted } from './demo-rows.js';

export interface CourseRecord {
  readonly code: string;
  readonly liveDemosMax: number;
  /** How many of those one address may have created. */
  readonly liveDemosPerAddressMax: number;
  readonly liveDemos: number;
  readonly createdAt: Date;
  /** Null while new demos can be created with the code. */
  readonly deactivatedAt: Date | null;
}

const codePattern = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{5,${dnsLimits.courseCodeCharacters - 1}}$`);

/** Whether the text is a valid course code: 6 to 64 letters, digits, dots, hyphens and underscores. Case-sensitive. */
export function isCourseCode(text: string): boolean {
  return codePattern.test(text);
}

/**
 * The key for looking up a code. An attacker cannot choose the hash, so the timing of the index look-up reveals nothing
 * about existing codes.
 */
export function hashCourseCode(code: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(code).digest());
}

export interface LiveDemo {
  /** Its full name in the zone of demos. */
  readonly name: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** Operator actions on course codes. */
export const courseStore = (prisma: Transaction) => ({
  /** @returns false when the code already exists, active or not */
  async createCourse(
    code: string,
    liveDemosMax: number,
    liveDemosPerAddressMax: number = dnsLimits.demosPerAddress,
  ): Promise<boolean> {
    const data = { code, hash: hashCourseCode(code), liveDemosMax, liveDemosPerAddressMax };
    const { count } = await prisma.courseCode.createMany({ data: [data], skipDuplicates: true });
    return count === 1;
  },

  async listCourses(): Promise<CourseRecord[]> {
    const live = isLiveAt(await readClock(prisma));
    const rows = await prisma.courseCode.findMany({
      orderBy: { createdAt: 'asc' },
      include: { _count: { select: { demos: { where: live } } } },
    });
    return rows.map(({ code, liveDemosMax, liveDemosPerAddressMax, createdAt, deactivatedAt, _count }) => ({
      code,
      liveDemosMax,
      liveDemosPerAddressMax,
      createdAt,
      deactivatedAt,
      liveDemos: _count.demos,
    }));
  },

  /**
   * Stops new demos from being created with the code; live demos continue. @returns false when no active code matches
   */
  async deactivateCourse(code: string): Promise<boolean> {
    const { count } = await prisma.courseCode.updateMany({
      where: { code, deactivatedAt: null },
      data: { deactivatedAt: await readClock(prisma) },
    });
    return count === 1;
  },

  /**
   * The live demos created with a code, oldest first. Their number is bounded by the code's limit.
   *
   * @returns null when the code does not exist, active or not
   */
  async listLiveDemos(code: string): Promise<LiveDemo[] | null> {
    const course = await prisma.courseCode.findUnique({ where: { code }, select: { id: true } });
    if (course === null) return null;
    return liveDemosOf(prisma, { courseCodeId: course.id });
  },

  /** The live demos of a team, oldest first. */
  listLiveDemosOfTeam: (teamId: TeamId): Promise<LiveDemo[]> => liveDemosOf(prisma, { teamId }),
});

/**
 * Ends a course: no new demo can be created with its code, and its live demos end now. Their tokens are refused; the
 * reconciler deletes their records.
 *
 * @returns the number of demos ended; null when the code does not exist, active or not
 */
export async function endCourse(tx: Transaction, code: string): Promise<number | null> {
  // Creating a demo locks the row of an active code, so after its deactivation no creation is in flight.
  await tx.courseCode.updateMany({
    where: { code, deactivatedAt: null },
    data: { deactivatedAt: await readClock(tx) },
  });
  const course = await tx.courseCode.findUnique({ where: { code }, select: { id: true } });
  return course === null ? null : endDemos(tx, { courseCodeId: course.id });
}

/** Ends the live demos of a team now, as `endCourse` does. @returns their number */
export async function endDemosOfTeam(tx: Transaction, teamId: TeamId): Promise<number> {
  // Creating a demo locks this row too.
  await lockOwner(tx, { kind: 'team', id: teamId });
  return endDemos(tx, { teamId });
}

type DemoOwner = { readonly courseCodeId: string } | { readonly teamId: string };

async function endDemos(tx: Transaction, owner: DemoOwner): Promise<number> {
  const now = await readClock(tx);
  const live = await tx.demo.findMany({ where: { ...owner, ...isLiveAt(now) }, select: { id: true } });
  const demoIds = live.map(({ id }) => id);
  await lockRows(tx, 'demo', { id: demoIds });
  const ended = await tx.demo.updateManyAndReturn({
    where: { id: { in: demoIds }, endedAt: null },
    data: { endedAt: now, clearAt: now, madeFrom: null },
    select: noted,
  });
  const note = { ...byService, operation: 'delete' } as const;
  await concludeEnds(tx, ended, note, now);
  return ended.length;
}

async function liveDemosOf(db: Transaction, owner: DemoOwner): Promise<LiveDemo[]> {
  const demos = await db.demo.findMany({
    where: { ...owner, ...isLiveAt(await readClock(db)) },
    orderBy: [{ createdAt: 'asc' }, { label: 'asc' }],
    select: { label: true, createdAt: true, expiresAt: true, zone: { select: { name: true } } },
  });
  return demos.map(({ label, zone, createdAt, expiresAt }) => ({
    name: `${label}.${zone.name}`,
    createdAt,
    expiresAt,
  }));
}
