import { type KeptReading, readBudgets } from '@corral/admission';
import { teamStore } from '@corral/auth';
import { connectPrisma } from '@corral/database';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { readByPool } from '../owner-pool.js';
import { renderTable } from '../table.js';

interface ShownFlow extends Pick<KeptReading['flows'][number], 'waiting' | 'waitingSince' | 'ahead' | 'promisedAt'> {
  /** Slug of a team; null for calls of the service itself. */
  readonly team: string | null;
  /** Slug of the team, or the class of the calls of the service, such as `poll`. */
  readonly name: string;
}

interface ShownBudget extends Pick<KeptReading, 'limit' | 'remaining' | 'resetAt' | 'observedAt'> {
  /** Names the upstream project by a digest of its token. */
  readonly project: string;
  readonly flows: readonly ShownFlow[];
}

export function upstreamCommand(withContext: WithContext): Command {
  const command = new Command('upstream').description('show the budget of upstream calls');
  command
    .command('show')
    .description('show what is left of the budget, who waits for a turn and since when, and how far ahead each team is')
    .action(
      withContext(async (context) => {
        const projects = await listBudgets(context);
        const none = 'No process has called the upstream within the last two hours.\n';
        context.print({ projects }, projects.length === 0 ? none : projects.map(textOf).join('\n'));
      }),
    );
  return command;
}

export function listBudgets(context: AdminContext): Promise<ShownBudget[]> {
  const options = { purpose: 'upstream', connectionsMax: 1, statementTimeoutMs: 10_000 };
  return readByPool(context, options, async (pool) => {
    const prisma = connectPrisma(pool);
    const slugs = new Map((await teamStore(prisma).listTeams()).map(({ id, slug }) => [id as string, slug]));
    return inUse(Object.entries(await readBudgets(prisma))).map(([project, reading]) => shown(project, reading, slugs));
  });
}

/** After so long without an answer, beside a project with newer ones, an account is that of a token which was replaced. */
const REPLACED_AFTER_MS = 900_000;

/** Accounts are shown for hours after the last call. */
function inUse(readings: readonly (readonly [string, KeptReading])[]): (readonly [string, KeptReading])[] {
  const newest = Math.max(...readings.map(([, { observedAt }]) => observedAt.getTime()));
  return readings.filter(([, { observedAt }]) => newest - observedAt.getTime() < REPLACED_AFTER_MS);
}

function shown(project: string, reading: KeptReading, slugs: ReadonlyMap<string, string>): ShownBudget {
  const { limit, remaining, resetAt, observedAt, flows } = reading;
  const named = flows.map(({ flow, ...of }) => {
    const team = slugs.get(flow) ?? null;
    return { team, name: team ?? flow.replace(/^~/, ''), ...of };
  });
  return { project, limit, remaining, resetAt, observedAt, flows: named };
}

function textOf({ project, limit, remaining, observedAt, flows }: ShownBudget): string {
  const left =
    limit === null ? 'The upstream has not stated a limit yet' : `${remaining} of ${limit} calls per hour are left`;
  const head = `Project ${project}: ${left}, as of ${observedAt.toISOString()}.\n`;
  if (flows.length === 0) return `${head}Nobody waits or is ahead.\n`;
  const table = renderTable(flows, {
    FOR: ({ team, name }) => (team === null ? `(${name})` : team),
    WAITING: ({ waiting }) => waiting,
    SINCE: ({ waitingSince }) => waitingSince?.toISOString() ?? null,
    AHEAD: ({ ahead }) => ahead,
    'NEXT PROMISED': ({ promisedAt }) => promisedAt[0]?.toISOString() ?? null,
    PROMISED: ({ promisedAt }) => promisedAt.length,
  });
  return `${head}\n${table}`;
}
