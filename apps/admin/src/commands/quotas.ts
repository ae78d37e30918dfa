import { type TeamQuota, teamQuotaMax, teamQuotas } from '@corral/contracts';
import { lockTeamChanges } from '@corral/database';
import { type Command, InvalidArgumentError } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import {
  quotaChanges,
  quotaDefaults,
  quotasExceeded,
  readQuotas,
  readUsed,
  type TeamQuotas,
  writeQuotas,
} from '../quotas.js';
import { renderTable } from '../table.js';

const texts: Readonly<Record<TeamQuota, { readonly option: string; readonly what: string }>> = {
  clusters: { option: 'clusters', what: 'clusters' },
  poolsPerCluster: { option: 'pools-per-cluster', what: 'node pools of one cluster' },
  nodesPerCluster: { option: 'nodes-per-cluster', what: 'nodes of one cluster, by the maximums of its pools' },
  adoptedServers: { option: 'adopted-servers', what: 'adopted servers' },
  dnsRecords: { option: 'dns-records', what: 'DNS records' },
};

type Wanted = { readonly [Q in TeamQuota]?: number | typeof DEFAULT } & { readonly dryRun?: true };

const DEFAULT = 'default';

/** Adds `show` and `set-quota` to the commands of teams. */
export function addQuotaCommands(team: Command, withContext: WithContext): void {
  team
    .command('show <slug>')
    .description('show the quotas of a team and what it uses')
    .action(
      withContext(async (context, slug: string) => {
        const { id } = await context.getTeam(slug);
        const state = await stateOf(context, id, await readQuotas(context.prisma, id));
        context.print({ team: slug, ...state }, tableOf(state));
      }),
    );
  const set = team
    .command('set-quota <slug>')
    .description('set quotas of a team; `default` is that of the installation');
  for (const quota of teamQuotas) {
    set.option(`--${texts[quota].option} <n>`, texts[quota].what, quotaOption(teamQuotaMax[quota]));
  }
  set.option('--dry-run', 'show the quotas as they would be, and change nothing').action(
    withContext(async (context, slug: string, { dryRun, ...options }: Wanted) => {
      const wanted = wantedOf(options);
      if (Object.keys(wanted).length === 0) {
        const names = teamQuotas.map((quota) => `--${texts[quota].option}`);
        throw new OperatorError(`Name at least one quota: ${names.join(', ')}.`);
      }
      const team = await context.getTeam(slug);
      const before =
        dryRun === true ? await readQuotas(context.prisma, team.id) : await setQuotas(context, team, wanted);
      const state = await stateOf(context, team.id, { ...before, ...wanted });
      const changed = quotaChanges(before, wanted).map(({ pointer }) => pointer.split('/').at(-1) as TeamQuota);
      const said =
        dryRun === true ? 'Nothing has changed; without --dry-run it would be:' : `Changed: ${changed.length}.`;
      context.print(
        { team: slug, dryRun: dryRun === true, changed, ...state },
        `${said}\n\n${tableOf(state)}${exceededText(state)}`,
      );
    }),
  );
}

const wantedOf = (options: Omit<Wanted, 'dryRun'>): Partial<TeamQuotas> =>
  Object.fromEntries(Object.entries(options).map(([quota, value]) => [quota, value === DEFAULT ? null : value]));

/** @returns the quotas before */
function setQuotas({ change }: AdminContext, team: Parameters<typeof actOf>[0], wanted: Partial<TeamQuotas>) {
  return change(
    (before: TeamQuotas) => actOf(team, before, wanted),
    async (tx) => {
      await lockTeamChanges(tx, team.id);
      const before = await readQuotas(tx, team.id);
      await writeQuotas(tx, team.id, wanted);
      return before;
    },
  );
}

const actOf = (
  team: Awaited<ReturnType<AdminContext['getTeam']>>,
  before: TeamQuotas,
  wanted: Partial<TeamQuotas>,
) => ({
  team,
  action: 'team.set_quota' as const,
  target: { kind: 'Team', id: team.id, name: team.slug },
  changes: quotaChanges(before, wanted),
});

interface QuotaState {
  readonly quotas: readonly {
    readonly quota: TeamQuota;
    readonly used: number;
    readonly limit: number;
    readonly isDefault: boolean;
  }[];
  /** Below what the team has. */
  readonly exceeded: readonly TeamQuota[];
}

async function stateOf({ prisma, settings }: AdminContext, id: string, own: TeamQuotas): Promise<QuotaState> {
  const used = await readUsed(prisma, id);
  const defaults = quotaDefaults(settings.recordsPerTeam);
  const rows = teamQuotas.map((quota) => {
    const limit = own[quota] ?? defaults[quota];
    return { quota, used: used[quota], limit, isDefault: own[quota] === null };
  });
  const limits = Object.fromEntries(rows.map(({ quota, limit }) => [quota, limit])) as Record<TeamQuota, number>;
  return { quotas: rows, exceeded: quotasExceeded(limits, used) };
}

const tableOf = ({ quotas }: QuotaState): string =>
  renderTable(quotas, {
    QUOTA: ({ quota }) => texts[quota].what,
    USED: ({ used }) => used,
    LIMIT: ({ limit }) => limit,
    FROM: ({ isDefault }) => (isDefault ? 'default' : 'team'),
  });

const exceededText = ({ exceeded }: QuotaState): string =>
  exceeded.length === 0
    ? ''
    : `\nThe team has more than it may: ${exceeded.map((quota) => texts[quota].what).join('; ')}. It keeps that, and gets nothing more.\n`;

const quotaOption = (max: number) => (text: string) => {
  if (text === DEFAULT) return DEFAULT;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (value < 0 || value > max) throw new InvalidArgumentError(`Use \`default\` or a whole number from 0 to ${max}.`);
  return value;
};
