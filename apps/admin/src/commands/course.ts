import { dnsLimits } from '@corral/contracts';
import { type CourseRecord, courseStore, isCourseCode } from '@corral/demos';
import { Command } from 'commander';
import { OperatorError } from '../operator-error.js';
import { wholeNumber } from '../option-parsers.js';
import { renderTable } from '../output/table.js';
import type { WithContext } from '../run-admin.js';

export function courseCommand(withContext: WithContext): Command {
  const command = new Command('course').description('codes with which people of no team make demos');
  command
    .command('create <code>')
    .description('make a course code; whoever knows it can make demos')
    .option('--limit <n>', 'demos that may live at the same time', wholeNumber(1_000), dnsLimits.demosPerCourse)
    .action(
      withContext(async ({ prisma, print }, code: string, { limit }: { limit: number }) => {
        if (!isCourseCode(code)) {
          throw new OperatorError(
            `"${code}" cannot be a course code: take 6 to ${dnsLimits.courseCodeCharacters} letters, digits, dots, hyphens and underscores.`,
          );
        }
        if (!(await courseStore(prisma).createCourse(code, limit))) {
          throw new OperatorError(
            `There is a course code "${code}" already. \`course list\` shows whether it is active.`,
          );
        }
        print({ code, limit }, `Course code ${code} is active: ${limit} demos may live at the same time.\n`);
      }),
    );
  command
    .command('list')
    .description('list all course codes, deactivated ones included')
    .action(
      withContext(async ({ prisma, print }) => {
        const courses = await courseStore(prisma).listCourses();
        const none = 'There are no course codes yet. `course create <code>` makes one.\n';
        print(courses, courses.length === 0 ? none : courseTable(courses));
      }),
    );
  command
    .command('deactivate <code>')
    .description('make no more demos with a course code; those that live go on')
    .action(
      withContext(async ({ prisma, print }, code: string) => {
        if (!(await courseStore(prisma).deactivateCourse(code))) {
          throw new OperatorError(`There is no active course code "${code}". \`course list\` shows those there are.`);
        }
        print({ code, active: false }, `Course code ${code} is deactivated.\n`);
      }),
    );
  return command;
}

function courseTable(courses: readonly CourseRecord[]): string {
  return renderTable(courses, {
    CODE: ({ code }) => code,
    STATE: ({ deactivatedAt }) => (deactivatedAt === null ? 'active' : 'deactivated'),
    'LIVE DEMOS': ({ liveDemos }) => liveDemos,
    LIMIT: ({ liveDemosMax }) => liveDemosMax,
    CREATED: ({ createdAt }) => createdAt.toISOString(),
  });
}
