import { randomUUID } from 'node:crypto';
import { connectQueue } from '@corral/queue';
import { silentLog } from '@corral/service';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { findOpenImport, followRun, type RequestedRun, runSource, type SyncRun } from '../follow-sync-run.js';
import { renderTable } from '../table.js';
import { type Ownership, readOwnership } from '../zone-ownership.js';

function runText(zoneName: string, { rrsetsSeen, added, changed, removed, skipped }: SyncRun): string {
  const difference = `${added} added, ${changed} changed, ${removed} removed`;
  const later = skipped === 0 ? '' : ` ${skipped} could not be compared yet; another sync starts automatically.`;
  return `Zone ${zoneName}: ${rrsetsSeen} record sets upstream; in the mirror ${difference}.${later}\n`;
}

function ownershipText({ teams, ownerless }: Ownership): string {
  const shares =
    teams.length === 0
      ? 'There are no teams yet.\n'
      : renderTable(teams, {
          TEAM: ({ team }) => team,
          'RECORD SETS': ({ rrsets }) => rrsets,
          RECORDS: ({ records }) => records,
          QUOTA: ({ isOverQuota, quota }) => (isOverQuota ? `over ${quota}: can only remove` : 'within'),
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

/** Time in which a reconciler has to begin a requested sync. */
const TAKEN_WITHIN_MS = 30_000;

export function zoneCommand(withContext: WithContext): Command {
  const command = new Command('zone').description('compare the mirror with the upstream zone');
  command
    .command('sync')
    .description('compare the mirror with the whole upstream zone now, and wait for the result')
    .action(
      withContext(async (context) => {
        const zone = context.getZoneName();
        const request = { runId: randomUUID(), fence: null };
        const run = await syncZone(context, zone, request);
        context.print({ runId: request.runId, zone, ...countsOf(run) }, runText(zone, run));
      }),
    );
  command
    .command('import')
    .description('same as sync, then list the record sets per team and those without a team')
    .action(
      withContext(async (context) => {
        const zone = context.getZoneName();
        const { prisma, settings } = context;
        const request = (await findOpenImport(prisma, zone)) ?? { runId: randomUUID(), fence: null };
        const run = await syncZone(context, zone, request);
        const { recordsPerTeam, demoZoneName = null } = settings;
        const ownership = await readOwnership(prisma, { zoneName: zone, demoZoneName, recordsPerTeam });
        const value = { runId: request.runId, zone, ...countsOf(run), ...ownership };
        context.print(value, `${runText(zone, run)}\n${ownershipText(ownership)}`);
      }),
    );
  return command;
}

/** Requests a sync from the reconcilers and follows it, since this command has no upstream token. */
async function syncZone(
  { io, settings, prisma, perform, progress }: AdminContext,
  zone: string,
  request: RequestedRun,
) {
  const { redisUrl, databaseUrl } = settings;
  const queue = connectQueue({ redisUrl, databaseUrl, log: silentLog });
  try {
    const { runId } = request;
    await perform({ team: null, action: 'zone.sync', target: { kind: 'Zone', name: zone }, detail: { runId } }, () =>
      queue.send('zone-sync', { reason: 'request', runId }),
    );
  } finally {
    await queue.close();
  }
  return followRun(runSource(prisma, zone, request), {
    takenWithinMs: io.takenWithinMs ?? TAKEN_WITHIN_MS,
    onWait: (what) => progress(what === 'begun' ? 'The sync is running …\n' : 'Waiting for another sync to finish …\n'),
    onProgress: ({ rrsetsSeen }) => progress(`${rrsetsSeen} record sets so far …\n`),
  });
}

function countsOf({ rrsetsSeen, added, changed, removed, skipped }: SyncRun) {
  return { rrsetsSeen, added, changed, removed, skipped };
}
