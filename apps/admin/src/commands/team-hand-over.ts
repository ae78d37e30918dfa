import type { Command } from 'commander';
import { type WithContext, writtenByWork } from '../admin-context.js';
import { getDeletedTeam, handOverTeam, planHandOver } from '../hand-over-team.js';
import { renderTable } from '../table.js';

/** Adds the command that hands a deleted team over. */
export function addHandOverCommand(command: Command, withContext: WithContext): void {
  command
    .command('hand-over <slug> <to>')
    .description(
      'list what a deleted team would leave to another team; with --yes, create it again with the members of that team',
    )
    .option('--yes', 'hand it over instead of listing what it leaves')
    .action(
      withContext(
        async ({ change, getTeam, operator, prisma, print }, slug: string, to: string, { yes }: { yes?: true }) => {
          const [former, receiver] = [await getDeletedTeam(prisma, slug), await getTeam(to)];
          if (yes !== true) {
            const plan = await planHandOver(prisma, former, receiver);
            const counts = { 'record sets': plan.recordSets, records: plan.records, members: plan.members.length };
            const table = renderTable(Object.entries(counts), { OF: ([name]) => name, COUNT: ([, count]) => count });
            const next = `To create team ${slug} again with the members of team ${to}, add --yes.`;
            print({ team: slug, to, dryRun: true, ...plan }, `${table}\nNothing has changed. ${next}\n`);
            return;
          }
          const done = await change(writtenByWork, (tx) => handOverTeam(tx, { former, to: receiver, operator }));
          const owned = `Team ${slug} exists again with the members of team ${to} (${done.members.length}).`;
          print(
            { team: slug, to, dryRun: false, ...done },
            `${owned} It owns the record sets of the deleted team (${done.recordSets}). To issue a token, run \`token issue ${slug} --name <text>\`.\n`,
          );
        },
      ),
    );
}
