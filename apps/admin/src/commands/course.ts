import { dnsLimits } from '@corral/contracts';
import { type CourseRecord, courseStore, isCourseCode } from '@corral/demos';
import { Command } from 'commander';
import { OperatorError } from '../operator-error.js';
import { wholeNumber } from '../option-parsers.js';
import { renderTable } from '../output/table.js';
import type { WithContext } from '../run-admin.js';

interface CreateOptions {
  readonly limit: number;
  readonly perAddress: number;
}

export function courseCommand(withContext: WithContext): Command {
  const command = new Command('course').description('codes with which people of no team make demos');
  command
    .command('create <code>')
    .description('make a course code; whoever knows it can make demos')
    .option('--limit <n>', 'demos that may live at the same time', wholeNumber(1_000), dnsLimits.demosPerCourse)
    .option(
      '--per-address <n>',
      'of those, demos that one address may have made',
      wholeNumber(1_000),
      dnsLimits.demosPerAddress,
    )
    .action(
      withContext(async ({ prisma, print }, code: string, { limit, perAddress }: CreateOptions) => {
        if (!isCourseCode(code)) {
          throw new OperatorError(
            `"${code}" cannot be a course code: take 6 to ${dnsLimits.courseCodeCharacters} letters, digits, dots, hyphens and underscores.`,
          );
        }
        if (!(await courseStore(prisma).createCourse(code, limit, perAddress))) {
          throw new OperatorError(
            `There is a course code "${code}" already. \`course list\` shows whether it is active.`,
          );
        }
        print(
          { code, limit, perAddress },
          `Course code ${code} is active: ${limit} demos may live at the same time${perAddress < limit ? `, ${perAddress} of them from one address (--per-address)` : ''}.\n`,
        );
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
  command
    .command('end <code>')
    .description('make no more demos with a course code, and end those that live')
    .action(
      withContext(async ({ prisma, print }, code: string) => {
        const ended = await courseStore(prisma).endCourse(code);
        if (ended === null) {
          throw new OperatorError(`There is no course code "${code}". \`course list\` shows those there are.`);
        }
        print(
          { code, active: false, ended },
          `Course code ${code} is deactivated, and its live demos ended: ${ended}.\n`,
        );
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
    'PER ADDRESS': ({ liveDemosPerAddressMax }) => liveDemosPerAddressMax,
    CREATED: ({ createdAt }) => createdAt.toISOString(),
  });
}
