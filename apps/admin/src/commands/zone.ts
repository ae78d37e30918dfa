import { randomUUID } from 'node:crypto';
import { connectQueue } from '@corral/queue';
import { silentLog } from '@corral/service';
import { Command } from 'commander';
import type { AdminContext } from '../admin-context.js';
import type { WithContext } from '../run-admin.js';
import { followRun, runSource, type SyncRun } from '../zone/follow-run.js';
import { readOwnership } from '../zone/ownership-report.js';
import { ownershipText, runText } from '../zone/zone-texts.js';

const TAKEN_WITHIN_MS = 30_000;

export function zoneCommand(withContext: WithContext): Command {
  const command = new Command('zone').description('compare the mirror with the upstream’s zone');
  command
    .command('sync')
    .description('have the mirror compared with the whole zone now, and wait for the outcome')
    .action(
      withContext(async (context) => {
        const zone = context.getZoneName();
        const { runId, run } = await syncZone(context, zone);
        context.print({ runId, zone, ...countsOf(run) }, runText(zone, run));
      }),
    );
  command
    .command('import')
    .description('as sync, and then tell which team owns what, and what belongs to nobody')
    .action(
      withContext(async (context) => {
        const zone = context.getZoneName();
        const { runId, run } = await syncZone(context, zone);
        const ownership = await readOwnership(context.prisma, zone, context.settings.recordsPerTeam);
        const value = { runId, zone, ...countsOf(run), ...ownership };
        context.print(value, `${runText(zone, run)}\n${ownershipText(ownership, context.settings.recordsPerTeam)}`);
      }),
    );
  return command;
}

/** Asks the reconcilers for a walk and follows it: this command holds no upstream token. */
async function syncZone({ io, settings, prisma, tell }: AdminContext, zone: string) {
  const { redisUrl, databaseUrl } = settings;
  const runId = randomUUID();
  const queue = connectQueue({ redisUrl, databaseUrl, log: silentLog });
  try {
    await queue.send('zone-sync', { reason: 'request', runId });
  } finally {
    await queue.close();
  }
  const run = await followRun(runSource(prisma, zone), runId, {
    takenWithinMs: io.takenWithinMs ?? TAKEN_WITHIN_MS,
    onWait: (what) =>
      tell(what === 'begun' ? 'The sync is running …\n' : 'Another sync is running; this one follows …\n'),
  });
  return { runId, run };
}

function countsOf({ rrsetsSeen, added, changed, removed, skipped }: SyncRun) {
  return { rrsetsSeen, added, changed, removed, skipped };
}
