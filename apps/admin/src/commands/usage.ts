import { dnsLimits } from '@corral/contracts';
import { readUsage } from '@corral/dns-data';
import { Command } from 'commander';
import type { WithContext } from '../admin-context.js';
import { renderTable } from '../table.js';

export function usageCommand(withContext: WithContext): Command {
  return new Command('usage')
    .argument('<team>')
    .description('show the usage and quotas of a team')
    .action(
      withContext(async ({ getTeam, prisma, print, settings, tokens }, slug: string) => {
        const team = await getTeam(slug);
        const [held, activeTokens] = await Promise.all([readUsage(prisma, team), tokens.countActive(team)]);
        const { recordsMax, ...current } = held;
        const usage = { ...current, activeTokens };
        const limits = { records: recordsMax ?? settings.recordsPerTeam, activeTokens: dnsLimits.activeTokensPerTeam };
        const rows: [string, number, number | null][] = [
          ['records', usage.records, limits.records],
          ['records reserved by running writes', usage.reservedRecords, null],
          ['record sets', usage.rrsets, null],
          ['active tokens', usage.activeTokens, limits.activeTokens],
        ];
        const table = renderTable(rows, {
          OF: ([what]) => what,
          USED: ([, used]) => used,
          LIMIT: ([, , limit]) => limit,
        });
        print({ team: slug, ...usage, limits }, table);
      }),
    );
}
