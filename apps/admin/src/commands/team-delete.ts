import { slugHeldUntil } from '@corral/auth';
import type { PointingSet } from '@corral/domain';
import type { Command } from 'commander';
import type { WithContext } from '../admin-context.js';
import {
  countPossessions,
  type DeletedTeam,
  deleteTeam,
  listLeadingSets,
  obstaclesOf,
  type TeamPossessions,
} from '../delete-team.js';
import { renderTable } from '../table.js';

interface DeleteOptions {
  readonly yes?: true;
  readonly keepRecords?: true;
}

/** Adds the command that deletes a team. */
export function addDeleteCommand(command: Command, withContext: WithContext): void {
  command
    .command('delete <slug>')
    .description('list what a suspended team has, and what keeps it from being deleted; with --yes, delete it')
    .option('--yes', 'delete it instead of listing what it has')
    .option('--keep-records', 'although it has record sets, which stay in the zone')
    .action(
      withContext(async ({ change, getTeam, prisma, print }, slug: string, options: DeleteOptions) => {
        const keepRecords = options.keepRecords === true;
        const team = await getTeam(slug);
        if (options.yes !== true) {
          const has = await countPossessions(prisma, team);
          const obstacles = obstaclesOf(team, has, keepRecords);
          const next = obstacles.length === 0 ? [`To delete team ${slug} for good, add --yes.`] : obstacles;
          const recordSets = await listLeadingSets(prisma, team);
          const text = `${possessionTable(has)}\n${leadingTable(recordSets)}Nothing has changed. ${next.join('\n')}\n`;
          print({ team: slug, dryRun: true, has, obstacles, recordSets }, text);
          return;
        }
        const { had, deletedAt } = await change(
          ({ had }: DeletedTeam) => ({
            team,
            action: 'team.delete',
            target: { kind: 'Team', id: team.id, name: slug },
            detail: { ...had },
          }),
          (tx) => deleteTeam(tx, team, keepRecords),
        );
        const heldUntil = slugHeldUntil(deletedAt);
        print(
          { team: slug, dryRun: false, had, deletedAt, heldUntil },
          `Team ${slug} is deleted. No other team gets its name before ${heldUntil.toISOString()}.\n`,
        );
      }),
    );
}

const names: Readonly<Record<keyof TeamPossessions, string>> = {
  clusters: 'clusters',
  adoptedServers: 'adopted servers',
  recordSets: 'record sets',
  openWrites: 'open DNS writes',
  demos: 'live demos',
  dnsTokens: 'DNS tokens',
  connections: 'connections',
  serviceAccounts: 'service accounts',
  webhooks: 'webhooks',
  members: 'members',
  invitations: 'open invitations',
};

const possessionTable = (has: TeamPossessions): string =>
  renderTable(Object.entries(names) as [keyof TeamPossessions, string][], {
    OF: ([, name]) => name,
    COUNT: ([key]) => has[key],
  });

const leadingTable = (sets: readonly PointingSet[]): string =>
  sets.length === 0
    ? ''
    : `Record sets that lead to its clusters and servers, or to what these had:\n${renderTable(sets, {
        NAME: ({ name, zone }) => `${name}.${zone}`,
        TYPE: ({ type }) => type,
        VALUES: ({ values }) => values.join(', '),
      })}\n`;
