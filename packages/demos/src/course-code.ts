import { createHash } from 'node:crypto';
import { dnsLimits } from '@corral/contracts';
import type { Prisma } from '@corral/database';

export interface CourseRecord {
  readonly code: string;
  readonly liveDemosMax: number;
  readonly liveDemos: number;
  readonly createdAt: Date;
  /** Null while demos can be made with it. */
  readonly deactivatedAt: Date | null;
}

const codePattern = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{5,${dnsLimits.courseCodeCharacters - 1}}$`);

/** False for what no course code can be: 6 to 64 letters, digits, dots, hyphens and underscores. Case counts. */
export function isCourseCode(text: string): boolean {
  return codePattern.test(text);
}

/**
 * What codes are looked up by. Whoever guesses cannot steer a hash, so how long the search in an index takes tells
 * nothing about the codes there are.
 */
export function hashCourseCode(code: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(code).digest());
}

/** What an operator does with course codes. */
export const courseStore = (prisma: Prisma) => ({
  /** @returns false when the code exists already, active or not */
  async createCourse(code: string, liveDemosMax: number): Promise<boolean> {
    const data = { code, hash: hashCourseCode(code), liveDemosMax };
    const { count } = await prisma.courseCode.createMany({ data: [data], skipDuplicates: true });
    return count === 1;
  },

  async listCourses(): Promise<CourseRecord[]> {
    const live = { endedAt: null, expiresAt: { gt: new Date() } };
    const rows = await prisma.courseCode.findMany({
      orderBy: { createdAt: 'asc' },
      include: { _count: { select: { demos: { where: live } } } },
    });
    return rows.map(({ code, liveDemosMax, createdAt, deactivatedAt, _count }) => ({
      ...{ code, liveDemosMax, createdAt, deactivatedAt },
      liveDemos: _count.demos,
    }));
  },

  /** No demo is made with the code any more; those that live go on. @returns false when there is no such active code */
  async deactivateCourse(code: string): Promise<boolean> {
    const { count } = await prisma.courseCode.updateMany({
      where: { code, deactivatedAt: null },
      data: { deactivatedAt: new Date() },
    });
    return count === 1;
  },
});
export type CourseStore = ReturnType<typeof courseStore>;
