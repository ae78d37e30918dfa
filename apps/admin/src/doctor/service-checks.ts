import { databaseServices, findHold, readClock } from '@corral/database';
import { connectQueue, isQueuePrepared } from '@corral/queue';
import { silentLog } from '@corral/service';
import { listBudgets } from '../commands/upstream.js';
import { type Check, failed, ok, unchecked, warning } from './check.js';

const HOUR_MS = 3_600_000;
/** A process that missed three beats is dead. */
const SILENT_MS_MAX = 15_000;
/** Share of the calls per hour below which writes begin to wait. */
const SCARCE = 0.1;

export const services: Check = async ({ context: { prisma } }) => {
  const since = new Date((await readClock(prisma)).getTime() - SILENT_MS_MAX);
  const where = { seenAt: { gt: since } };
  const counts = await prisma.serviceProcess.groupBy({ by: ['service'], where, _count: true });
  const alive = new Map(counts.map(({ service, _count }) => [service, _count]));
  const text = databaseServices.map((service) => `${service} ${alive.get(service) ?? 0}`).join(', ');
  const missing = ['dns-gateway', 'reconciler'].filter((service) => !alive.has(service));
  return missing.length === 0
    ? ok(`Live processes: ${text}.`)
    : failed(`No process is alive of: ${missing.join(', ')}. Start it, and read its first lines.`);
};

export const queue: Check = async ({ context: { settings }, pool }) => {
  const { redisUrl, databaseUrl } = settings;
  // A queue in Postgres that is opened by the owner of its schema would be migrated.
  if (redisUrl === undefined) {
    return (await isQueuePrepared(pool))
      ? ok('Without Redis, jobs are in Postgres.')
      : failed('The queue in Postgres is not that of this release. Run `migrate`.');
  }
  const connected = connectQueue({ redisUrl, databaseUrl, log: silentLog });
  try {
    await connected.ping();
    return ok('Redis answers.');
  } catch {
    return failed('Redis does not answer. Check REDIS_URL, and that it runs.');
  } finally {
    await connected.close();
  }
};

export const upstream: Check = async ({ context }) => {
  const budgets = await listBudgets(context);
  const [known] = budgets.filter(({ limit }) => limit !== null);
  if (known === undefined) return unchecked('No process has called the upstream within the last two hours.');
  const { remaining, limit } = known;
  const text = `${remaining} of ${limit} calls to the upstream per hour are left.`;
  return Number(remaining) < Number(limit) * SCARCE ? warning(`${text} See \`upstream show\`.`) : ok(text);
};

export const sync: Check = async ({ context: { prisma, settings } }) => {
  const zone = settings.zoneName;
  if (zone === undefined) return unchecked('Set DNS_ZONE_NAME to check the zone.');
  const last = await prisma.dnsSyncRun.findFirst({
    where: { zoneName: zone, state: { not: 'running' } },
    orderBy: { startedAt: 'desc' },
  });
  if (last === null) return failed(`The zone ${zone} was never read. Start a reconciler, then run \`zone sync\`.`);
  if (last.state === 'failed') return failed(`The last sync of ${zone} failed: ${last.failure ?? 'unknown'}`);
  const ageMs = (await readClock(prisma)).getTime() - (last.finishedAt ?? last.startedAt).getTime();
  const minutes = Math.round(ageMs / 60_000);
  return ageMs > HOUR_MS
    ? warning(
        `The last sync of ${zone} was ${minutes} minutes ago. Unless DNS_SYNC_INTERVAL_MS is longer, run \`zone sync\`.`,
      )
    : ok(`The zone ${zone} was read ${minutes} minutes ago.`);
};

export const hold: Check = async ({ context }) => {
  const open = await findHold(context.prisma);
  return open === null
    ? ok('No hold is in force.')
    : warning(
        `A hold is in force since ${open.begunAt.toISOString()}: nothing changes. Read \`hold report\`, then \`resume\`.`,
      );
};
