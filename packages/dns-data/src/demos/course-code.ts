import { createHash } from 'node:crypto';
import { dnsLimits } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { isLive, noteDemo, revokeTokens } from './demo-rows.js';

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
export const courseStore = (prisma: Prisma) => ({
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
    const live = { endedAt: null, expiresAt: { gt: new Date() } };
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
      data: { deactivatedAt: new Date() },
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
    return prisma.$queryRawUnsafe<LiveDemo[]>(liveDemosOfCourse, course.id);
  },

  /**
   * Ends a course: no new demo can be created with its code, and its live demos end now. Their tokens are refused; the
   * reconciler deletes their records.
   *
   * @returns the number of demos ended; null when the code does not exist, active or not
   */
  endCourse: (code: string): Promise<number | null> =>
    prisma.$transaction(async (tx) => {
      // Creating a demo locks this row, so after the update no creation is in flight.
      const [course] = await tx.$queryRaw<{ id: string }[]>`
        UPDATE course_code SET deactivated_at = coalesce(deactivated_at, clock_timestamp())
        WHERE code = ${code} RETURNING id`;
      if (course === undefined) return null;
      const [row] = await tx.$queryRawUnsafe<{ ended: number }[]>(endDemosOfCourse, course.id);
      return row?.ended ?? 0;
    }),
});

const liveDemosOfCourse = `
  SELECT demo.label || '.' || dns_zone.name AS name, demo.created_at AS "createdAt", demo.expires_at AS "expiresAt"
  FROM demo JOIN dns_zone ON dns_zone.id = demo.zone_id
  WHERE demo.course_code_id = $1::uuid AND ${isLive} ORDER BY demo.created_at, demo.label`;

const endDemosOfCourse = `
  WITH ended AS (
    UPDATE demo SET ended_at = clock_timestamp(), clear_at = clock_timestamp(), made_from = NULL
    WHERE course_code_id = $1::uuid AND ${isLive} RETURNING id, team_id, zone_id, label, ended_at
  ), ${revokeTokens('ended')}, noted AS (
    ${noteDemo({ actor: `'service'`, tokenId: 'NULL', operation: `'delete'`, request: 'NULL', from: 'ended' })}
  )
  SELECT count(*)::int AS ended FROM ended`;

export type CourseStore = ReturnType<typeof courseStore>;
