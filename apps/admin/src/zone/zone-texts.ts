import { renderTable } from '../output/table.js';
import type { SyncRun } from './follow-run.js';
import type { Ownership } from './ownership-report.js';

export function runText(zoneName: string, { rrsetsSeen, added, changed, removed, skipped }: SyncRun): string {
  const difference = `${added} added, ${changed} changed, ${removed} removed`;
  const later = skipped === 0 ? '' : ` ${skipped} could not be compared yet; another sync starts automatically.`;
  return `Zone ${zoneName}: ${rrsetsSeen} record sets upstream; in the mirror ${difference}.${later}\n`;
}

export function ownershipText({ teams, ownerless }: Ownership, recordsPerTeam: number): string {
  const shares =
    teams.length === 0
      ? 'There are no teams yet.\n'
      : renderTable(teams, {
          TEAM: ({ team }) => team,
          'RECORD SETS': ({ rrsets }) => rrsets,
          RECORDS: ({ records }) => records,
          QUOTA: ({ isOverQuota }) => (isOverQuota ? `over ${recordsPerTeam}: can only remove` : 'within'),
        });
  if (ownerless.length === 0) return `${shares}\nEvery record set belongs to a team.\n`;
  const orphans = renderTable(ownerless, {
    NAME: ({ name }) => name,
    TYPE: ({ type }) => type,
    RECORDS: ({ records }) => records,
    WHY: ({ why }) => why,
  });
  return `${shares}\nThese ${ownerless.length} belong to no team and stay as they are. A new team gets those at and below its name:\n\n${orphans}`;
}
