import { findHold, type Hold, readClock, type Transaction } from '@corral/database';
import { Command } from 'commander';
import type { WithContext } from '../admin-context.js';
import { beginHold, beginHoldOfRestored, type Ended, endHold } from '../hold/begin-and-end.js';
import { type HoldReport, readHoldReport } from '../hold/hold-report.js';
import { OperatorError } from '../operator-error.js';
import type { Act, ActOfInstallation } from '../operators/acts.js';
import { timeOption } from '../option-parsers.js';
import { renderTable } from '../table.js';

export function holdCommand(withContext: WithContext): Command {
  const command = new Command('hold').description('stop all changes outside the database, and report what differs');
  command
    .command('begin')
    .description('begin a hold; reads and observation continue')
    .option(
      '--restored-from <time>',
      'the database was restored by other means, from a backup taken at this time',
      timeOption,
    )
    .action(
      withContext(async (context, { restoredFrom }: { restoredFrom?: Date }) => {
        const hold = await context.change(actOn('begin'), async (tx) => {
          if ((await findHold(tx)) !== null) throw new OperatorError('A hold is already in force. See `hold status`.');
          await (restoredFrom === undefined ? beginHold(tx) : beginHoldOfRestored(tx, restoredFrom));
          return getHold(tx);
        });
        context.print(hold, `The hold ${hold.id} has begun. \`hold report\` shows what is found.\n`);
      }),
    );
  command
    .command('status')
    .description('show whether a hold is in force')
    .action(
      withContext(async (context) => {
        const hold = await findHold(context.prisma);
        context.print({ hold }, hold === null ? 'No hold is in force.\n' : statusText(hold));
      }),
    );
  command
    .command('report')
    .description('show what was found during the hold, and what is not read yet')
    .action(
      withContext(async (context) => {
        const report = await readHoldReport(context.prisma, await getHold(context.prisma));
        context.print({ ...report, isComplete: report.missing.length === 0 }, reportText(report));
      }),
    );
  command
    .command('release')
    .argument('<team>')
    .argument('<cluster>')
    .description('apply the restored declaration of a cluster that was kept as it is')
    .action(
      withContext(async (context, slug: string, name: string) => {
        const team = await context.getTeam(slug);
        const act = ({ id }: { id: string }): Act => ({
          team,
          action: 'cluster.release',
          target: { kind: 'Cluster', id, name },
        });
        await context.change(act, async (tx) => {
          const [released] = await tx.cluster.updateManyAndReturn({
            where: { teamId: team.id, name, keptGeneration: { not: null } },
            data: { keptGeneration: null, dueAt: await readClock(tx) },
            select: { id: true },
          });
          if (released !== undefined) return released;
          throw new OperatorError(`No cluster "${name}" of the team ${slug} is kept as it is.`);
        });
        context.print({ team: slug, cluster: name }, `The declaration of ${slug}/${name} is applied.\n`);
      }),
    );
  return command;
}

export function resumeCommand(withContext: WithContext): Command {
  return new Command('resume')
    .argument('<hold-id>')
    .description('end the hold whose report you have read; its id is in the report')
    .option(
      '--incomplete',
      'end it even if the report is incomplete; unread clusters stay as they are, and unread cloud servers until they can be read',
    )
    .action(
      withContext(async (context, id: string, { incomplete }: { incomplete?: boolean }) => {
        const act = (of: Ended): Act => ({
          ...actOn('end')({ id }),
          detail: { ...of, incomplete: incomplete === true },
        });
        const ended = await context.change(act, async (tx) => {
          const hold = await getHold(tx);
          if (hold.id !== id) throw new OperatorError(`The hold in force is ${hold.id}. Read \`hold report\` first.`);
          const { missing } = await readHoldReport(tx, hold);
          if (missing.length > 0 && incomplete !== true) {
            throw new OperatorError(`The report is incomplete. ${missing.join(' ')} Or add --incomplete.`);
          }
          return endHold(tx, hold);
        });
        const { keptClusters, failedServers, unreadServers } = ended;
        context.print(
          ended,
          `The hold has ended. Clusters kept as they are: ${keptClusters}. Servers set to Failed: ${failedServers}. Servers still to be read: ${unreadServers}.\n`,
        );
      }),
    );
}

async function getHold(db: Transaction): Promise<Hold> {
  const hold = await findHold(db);
  if (hold !== null) return hold;
  throw new OperatorError('No hold is in force. `hold begin` begins one.');
}

function statusText({ id, reason, begunAt, backupTakenAt }: Hold): string {
  const from = backupTakenAt === null ? '' : ` from a backup of ${backupTakenAt.toISOString()}`;
  return `The hold ${id} is in force since ${begunAt.toISOString()} (${reason}${from}).\n`;
}

function reportText(report: HoldReport): string {
  const { hold, syncs, writes, findings, broughtBack, missing } = report;
  const differing = findings.filter(({ finding }) => finding !== 'as_recorded');
  const sections = [
    statusText(hold),
    syncs.length === 0
      ? 'There is no zone.\n'
      : renderTable(syncs, {
          ZONE: ({ zone }) => zone,
          SYNC: ({ state }) => state,
          ADDED: ({ added }) => added,
          CHANGED: ({ changed }) => changed,
          REMOVED: ({ removed }) => removed,
          SKIPPED: ({ skipped }) => skipped,
        }),
    `DNS writes settled by reading: ${writes.applied} applied, ${writes.notApplied} not applied, ${writes.pending} open.\n`,
    `Clusters and servers as recorded: ${findings.length - differing.length}.\n`,
    ...(differing.length === 0 ? [] : [findingsTable(differing)]),
    ...(hold.reason === 'restored' ? [broughtBackText(broughtBack)] : []),
    missing.length === 0
      ? `The report is complete. \`resume ${hold.id}\` ends the hold.\n`
      : `Not complete yet:\n${missing.map((each) => `- ${each}\n`).join('')}`,
  ];
  return sections.join('\n');
}

const findingsTable = (findings: HoldReport['findings']): string =>
  renderTable(findings, {
    KIND: ({ kind }) => kind,
    TEAM: ({ team }) => team,
    NAME: ({ name }) => name,
    FINDING: ({ finding }) => finding,
    MEANING: ({ message }) => message,
  });

const broughtBackText = ({ dnsTokens, invitations, members }: HoldReport['broughtBack']): string =>
  `Valid again, also if they ended after the backup: ${dnsTokens} DNS tokens, ${invitations} invitations, ${members} memberships.\nRevoke what should have ended (\`token revoke\`, \`user end\`).\n`;

const actOn =
  (what: 'begin' | 'end') =>
  ({ id }: { readonly id: string }): ActOfInstallation => ({
    team: null,
    action: `hold.${what}`,
    target: { kind: 'Hold', name: id },
  });
