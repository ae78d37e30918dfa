import { randomUUID } from 'node:crypto';
import { connectQueue } from '@corral/queue';
import { silentLog } from '@corral/service';
import { Command } from 'commander';
import type { AdminContext } from '../admin-context.js';
import type { WithContext } from '../run-admin.js';
import { findOpenImport, followRun, type RequestedRun, runSource, type SyncRun } from '../zone/follow-run.js';
import { readOwnership } from '../zone/ownership-report.js';
import { ownershipText, runText } from '../zone/zone-texts.js';

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
        context.print(value, `${runText(zone, run)}\n${ownershipText(ownership, recordsPerTeam)}`);
      }),
    );
  return command;
}

/** Asks the reconcilers for a walk and follows it: this command holds no upstream token. */
async function syncZone({ io, settings, prisma, tell }: AdminContext, zone: string, request: RequestedRun) {
  const { redisUrl, databaseUrl } = settings;
  const queue = connectQueue({ redisUrl, databaseUrl, log: silentLog });
  try {
    await queue.send('zone-sync', { reason: 'request', runId: request.runId });
  } finally {
    await queue.close();
  }
  return followRun(runSource(prisma, zone, request), {
    takenWithinMs: io.takenWithinMs ?? TAKEN_WITHIN_MS,
    onWait: (what) => tell(what === 'begun' ? 'The sync is running …\n' : 'Waiting for another sync to finish …\n'),
    onProgress: ({ rrsetsSeen }) => tell(`${rrsetsSeen} record sets so far …\n`),
  });
}

function countsOf({ rrsetsSeen, added, changed, removed, skipped }: SyncRun) {
  return { rrsetsSeen, added, changed, removed, skipped };
}
