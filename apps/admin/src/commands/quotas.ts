import type { NamedTeam } from '@corral/auth';
import { type TeamLimit, type TeamQuota, teamLimitMax, teamQuotaMax } from '@corral/contracts';
import { lockTeamChanges } from '@corral/database';
import { type Command, InvalidArgumentError } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import {
  limitDefaults,
  limitNumbers,
  type OwnNumbers,
  quotaDefaults,
  quotaNumbers,
  quotasExceeded,
  readUsed,
  type TeamNumbers,
} from '../quotas.js';
import { renderTable } from '../table.js';

type Texts<Name extends string> = Readonly<Record<Name, { readonly option: string; readonly what: string }>>;

const quotaTexts: Texts<TeamQuota> = {
  clusters: { option: 'clusters', what: 'clusters' },
  poolsPerCluster: { option: 'pools-per-cluster', what: 'node pools of one cluster' },
  nodesPerCluster: { option: 'nodes-per-cluster', what: 'nodes of one cluster, by the maximums of its pools' },
  adoptedServers: { option: 'adopted-servers', what: 'adopted servers' },
  dnsRecords: { option: 'dns-records', what: 'DNS records' },
};

const limitTexts: Texts<TeamLimit> = {
  dnsRequests: { option: 'dns-requests', what: 'requests to the DNS API' },
  dnsTokenRequests: { option: 'dns-token-requests', what: 'requests with one DNS token' },
  accountRequests: { option: 'account-requests', what: 'requests of one service account' },
};

type Wanted<Name extends string> = { readonly [N in Name]?: number | typeof DEFAULT } & { readonly dryRun?: true };

const DEFAULT = 'default';

/** Adds `show`, `set-quota` and `set-limit` to the commands of teams. */
export function addQuotaCommands(team: Command, withContext: WithContext): void {
  team
    .command('show <slug>')
    .description('show the quotas of a team, what it uses of them, and its request limits')
    .action(
      withContext(async (context, slug: string) => {
        const team = await context.getTeam(slug);
        const state = await quotaState(context, team, await quotaNumbers.read(context.prisma, team.id));
        const limits = limitRows(await limitNumbers.read(context.prisma, team.id));
        context.print({ team: slug, ...state, limits }, `${quotaTable(state)}\n${limitTable(limits)}`);
      }),
    );
  addSetCommand(team, withContext, {
    command: 'set-quota',
    description: 'set quotas of a team; `default` is that of the installation',
    action: 'team.set_quota',
    numbers: quotaNumbers,
    texts: quotaTexts,
    range: (quota) => [0, teamQuotaMax[quota]],
    async show(context, team, own) {
      const state = await quotaState(context, team, own);
      return { body: state, text: `${quotaTable(state)}${exceededText(state)}` };
    },
  });
  addSetCommand(team, withContext, {
    command: 'set-limit',
    description: 'set the request limits of a team, per minute; `default` is that of the installation',
    action: 'team.set_limit',
    numbers: limitNumbers,
    texts: limitTexts,
    range: (limit) => [1, teamLimitMax[limit]],
    async show(_context, _team, own) {
      const limits = limitRows(own);
      return { body: { limits }, text: limitTable(limits) };
    },
  });
}

interface SetCommand<Name extends string> {
  readonly command: string;
  readonly description: string;
  readonly action: 'team.set_quota' | 'team.set_limit';
  readonly numbers: TeamNumbers<Name>;
  readonly texts: Texts<Name>;
  readonly range: (name: Name) => readonly [least: number, most: number];
  readonly show: (
    context: AdminContext,
    team: NamedTeam,
    own: OwnNumbers<Name>,
  ) => Promise<{ body: object; text: string }>;
}

function addSetCommand<Name extends string>(team: Command, withContext: WithContext, what: SetCommand<Name>): void {
  const { numbers, texts } = what;
  const set = team.command(`${what.command} <slug>`).description(what.description);
  for (const name of numbers.names)
    set.option(`--${texts[name].option} <n>`, texts[name].what, numberOption(what.range(name)));
  set.option('--dry-run', 'show the result, and change nothing').action(
    withContext(async (context, slug: string, { dryRun, ...options }: Wanted<Name>) => {
      const wanted = wantedOf<Name>(options);
      if (Object.keys(wanted).length === 0) {
        throw new OperatorError(
          `Name at least one: ${numbers.names.map((name) => `--${texts[name].option}`).join(', ')}.`,
        );
      }
      const team = await context.getTeam(slug);
      const before =
        dryRun === true ? await numbers.read(context.prisma, team.id) : await save(context, team, what, wanted);
      const { body, text } = await what.show(context, team, { ...before, ...wanted });
      const changed = numbers.changes(before, wanted).map(({ pointer }) => pointer.split('/').at(-1) as Name);
      const said =
        dryRun === true ? 'Nothing has changed; without --dry-run it would be:' : `Changed: ${changed.length}.`;
      context.print({ team: slug, dryRun: dryRun === true, changed, ...body }, `${said}\n\n${text}`);
    }),
  );
}

const wantedOf = <Name extends string>(options: object): Partial<OwnNumbers<Name>> =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, value === DEFAULT ? null : value]),
  ) as Partial<OwnNumbers<Name>>;

/** @returns the numbers before */
function save<Name extends string>(
  { change }: AdminContext,
  team: NamedTeam,
  { numbers, action }: SetCommand<Name>,
  wanted: Partial<OwnNumbers<Name>>,
): Promise<OwnNumbers<Name>> {
  return change(
    (before: OwnNumbers<Name>) => ({
      team,
      action,
      target: { kind: 'Team', id: team.id, name: team.slug },
      changes: numbers.changes(before, wanted),
    }),
    async (tx) => {
      await lockTeamChanges(tx, team.id);
      const before = await numbers.read(tx, team.id);
      await numbers.write(tx, team.id, wanted);
      return before;
    },
  );
}

interface QuotaState {
  readonly quotas: readonly {
    readonly quota: TeamQuota;
    readonly used: number;
    readonly limit: number;
    readonly isDefault: boolean;
  }[];
  /** Quotas below what the team has. */
  readonly exceeded: readonly TeamQuota[];
}

async function quotaState(
  { prisma, settings }: AdminContext,
  team: NamedTeam,
  own: OwnNumbers<TeamQuota>,
): Promise<QuotaState> {
  const used = await readUsed(prisma, team);
  const defaults = quotaDefaults(settings.recordsPerTeam);
  const rows = quotaNumbers.names.map((quota) => {
    const limit = own[quota] ?? defaults[quota];
    return { quota, used: used[quota], limit, isDefault: own[quota] === null };
  });
  const limits = Object.fromEntries(rows.map(({ quota, limit }) => [quota, limit])) as Record<TeamQuota, number>;
  return { quotas: rows, exceeded: quotasExceeded(limits, used) };
}

const fromText = ({ isDefault }: { readonly isDefault: boolean }): string => (isDefault ? 'default' : 'team');

const quotaTable = ({ quotas }: QuotaState): string =>
  renderTable(quotas, {
    QUOTA: ({ quota }) => quotaTexts[quota].what,
    USED: ({ used }) => used,
    LIMIT: ({ limit }) => limit,
    FROM: fromText,
  });

const limitRows = (own: OwnNumbers<TeamLimit>) =>
  limitNumbers.names.map((limit) => ({
    limit,
    perMinute: own[limit] ?? limitDefaults[limit],
    isDefault: own[limit] === null,
  }));

const limitTable = (rows: ReturnType<typeof limitRows>): string =>
  renderTable(rows, {
    LIMIT: ({ limit }) => limitTexts[limit].what,
    'PER MINUTE': ({ perMinute }) => perMinute,
    FROM: fromText,
  });

const exceededText = ({ exceeded }: QuotaState): string =>
  exceeded.length === 0
    ? ''
    : `\nThe team has more than it may: ${exceeded.map((quota) => quotaTexts[quota].what).join('; ')}. It keeps that, and gets nothing more.\n`;

const numberOption =
  ([least, most]: readonly [number, number]) =>
  (text: string) => {
    if (text === DEFAULT) return DEFAULT;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if (value < least || value > most) {
      throw new InvalidArgumentError(`Use \`default\` or a whole number from ${least} to ${most}.`);
    }
    return value;
  };
