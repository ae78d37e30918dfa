import { dnsLimits } from '@corral/contracts';
import { type CourseRecord, courseStore, endCourse, isCourseCode, type LiveDemo } from '@corral/dns-data';
import { Command } from 'commander';
import type { WithContext } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import type { ActOfInstallation } from '../operators/acts.js';
import { wholeNumber } from '../option-parsers.js';
import { renderTable } from '../table.js';

interface CreateOptions {
  readonly limit: number;
  readonly perAddress: number;
}

interface EndOptions {
  readonly yes?: true;
}

export function courseCommand(withContext: WithContext): Command {
  const command = new Command('course').description(
    'manage course codes, which let people without a team create demos',
  );
  command
    .command('create <code>')
    .description('create a course code; everyone who knows it can create demos')
    .option('--limit <n>', 'maximum number of live demos', wholeNumber(1_000), dnsLimits.demosPerCourse)
    .option(
      '--per-address <n>',
      'maximum number of live demos per client address',
      wholeNumber(1_000),
      dnsLimits.demosPerAddress,
    )
    .action(
      withContext(async ({ change, print }, code: string, { limit, perAddress }: CreateOptions) => {
        if (!isCourseCode(code)) {
          throw new OperatorError(
            `"${code}" is not a valid course code: use 6 to ${dnsLimits.courseCodeCharacters} letters, digits, dots, hyphens and underscores.`,
          );
        }
        const act = actOn('create', code, { limit, perAddress });
        await change(act, async (tx) => {
          if (await courseStore(tx).createCourse(code, limit, perAddress)) return;
          throw new OperatorError(
            `The course code "${code}" already exists. \`course list\` shows whether it is active.`,
          );
        });
        print(
          { code, limit, perAddress },
          `Course code ${code} is active. Live demos: at most ${limit}${perAddress < limit ? `, and ${perAddress} per address (--per-address)` : ''}.\n`,
        );
      }),
    );
  command
    .command('list')
    .description('list all course codes, deactivated ones included')
    .action(
      withContext(async ({ prisma, print }) => {
        const courses = await courseStore(prisma).listCourses();
        const none = 'There are no course codes yet. Create one with `course create <code>`.\n';
        print(courses, courses.length === 0 ? none : courseTable(courses));
      }),
    );
  command
    .command('deactivate <code>')
    .description('deactivate a course code; its live demos continue')
    .action(
      withContext(async ({ change, print }, code: string) => {
        await change(actOn('deactivate', code), async (tx) => {
          if (await courseStore(tx).deactivateCourse(code)) return;
          throw new OperatorError(`There is no active course code "${code}". \`course list\` shows all codes.`);
        });
        print({ code, active: false }, `Course code ${code} is deactivated.\n`);
      }),
    );
  command
    .command('end <code>')
    .description('list the live demos of a course code; with --yes, deactivate the code and end them')
    .option('--yes', 'end them instead of listing what would end')
    .action(
      withContext(async ({ prisma, change, print }, code: string, { yes }: EndOptions) => {
        if (yes !== true) {
          const demos = orUnknown(code, await courseStore(prisma).listLiveDemos(code));
          print({ code, dryRun: true, demos }, dryRunText(code, demos));
          return;
        }
        const ended = await change(
          (demos: number) => actOn('end', code, { demos })(),
          async (tx) => orUnknown(code, await endCourse(tx, code)),
        );
        print({ code, active: false, ended }, `Course code ${code} is deactivated. Live demos ended: ${ended}.\n`);
      }),
    );
  return command;
}

const actOn =
  (what: 'create' | 'deactivate' | 'end', code: string, detail: ActOfInstallation['detail'] = {}) =>
  (): ActOfInstallation => ({ team: null, action: `course.${what}`, target: { kind: 'Course', name: code }, detail });

/** @throws OperatorError when the store did not find the code */
function orUnknown<T>(code: string, found: T | null): T {
  if (found !== null) return found;
  throw new OperatorError(`There is no course code "${code}". \`course list\` shows all codes.`);
}

export const demoTable = (demos: readonly LiveDemo[]): string =>
  renderTable(demos, {
    DEMO: ({ name }) => name,
    CREATED: ({ createdAt }) => createdAt.toISOString(),
    EXPIRES: ({ expiresAt }) => expiresAt.toISOString(),
  });

function dryRunText(code: string, demos: readonly LiveDemo[]): string {
  const act = `Nothing has changed. To deactivate ${code} and end its live demos (${demos.length}), add --yes.\n`;
  return demos.length === 0 ? act : `${demoTable(demos)}\n${act}`;
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
