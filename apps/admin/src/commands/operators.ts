import { Command } from 'commander';
import type { WithContext } from '../admin-context.js';
import { type OperatorAct, readActs } from '../operators/acts.js';
import { timeOption, wholeNumber } from '../option-parsers.js';
import { renderTable } from '../table.js';

interface ActOptions {
  readonly limit: number;
  readonly before?: Date;
  readonly operator?: string;
}

export function operatorsCommand(withContext: WithContext): Command {
  return new Command('operators')
    .description('show what operators did, newest first, in all teams and in the installation')
    .option('--limit <n>', 'acts to show, 1 to 1000', wholeNumber(1_000), 20)
    .option('--before <time>', 'show acts before this time', timeOption)
    .option('--operator <name>', 'only acts of this operator')
    .action(
      withContext(async ({ prisma, print }, { limit, before, operator }: ActOptions) => {
        const query = { limit, before: before ?? null, operator: operator ?? null };
        const acts = await readActs(prisma, query);
        print({ acts }, acts.length === 0 ? 'No acts found.\n' : actTable(acts));
      }),
    );
}

const actTable = (acts: readonly OperatorAct[]): string =>
  renderTable(acts, {
    TIME: ({ at }) => at.toISOString(),
    OPERATOR: ({ operator }) => operator,
    ACTION: ({ action }) => action,
    TEAM: ({ team }) => team,
    TARGET: ({ targetKind, targetName }) => `${targetKind} ${targetName}`,
    DETAIL: ({ detail, changes }) => wordsOf(changes === null ? detail : changesOf(changes)),
  });

const changesOf = (changes: NonNullable<OperatorAct['changes']>): object =>
  Object.fromEntries(changes.map(({ pointer, from, to }) => [pointer, `${from ?? 'default'} -> ${to ?? 'default'}`]));

const wordsOf = (detail: object): string =>
  Object.entries(detail)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
