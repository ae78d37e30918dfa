import type { ClusterSchemas } from '@corral/client';
import { type ChangePlan, planChanges, type SetContent, type WantedSet } from '@corral/domain';
import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { fieldText } from '../clusters/effect-text.js';
import { costLines, effectText } from '../clusters/plan-text.js';
import { connectTeam, type TeamApi } from '../clusters/team-api.js';
import { connectZone, type DnsZone } from '../dns/dns-zone.js';
import { planText } from '../dns/plan-text.js';
import { runPlan } from '../dns/run-plan.js';
import { CliError, CliExit, usageError } from '../exit-codes.js';
import { confirm } from '../output/ask.js';
import { printable } from '../output/table.js';
import { dryRunOption, durationOption, yesOption } from '../settings/options.js';

type UndoPlan = ClusterSchemas['UndoPlan'];
type UndoItem = UndoPlan['items'][number];

interface UndoOptions {
  readonly request?: string;
  readonly since?: string;
  readonly until?: string;
  readonly actor?: string;
  readonly name?: string;
  readonly token?: string;
  readonly overwrite?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function undoCommand(withCli: WithCli): Command {
  return new Command('undo')
    .argument('[entry]', 'id of an entry of the audit log, such as dns-4711')
    .description('take back what an entry did, or a request, or everything in a span of time; shows the plan, and asks')
    .option('--request <id>', 'what the request with this X-Correlation-Id did')
    .option('--since <time>', 'entries at or after this time (RFC 3339), or from so long ago, such as 15m', timeOption)
    .option('--until <time>', 'entries before this time, or until so long ago', timeOption)
    .option('--actor <actor>', 'of these, only what this person or kind of caller did')
    .option('--name <name>', 'of these, only entries about this name')
    .option('--token <token>', 'of these, only what this DNS token wrote: its name or id')
    .option('--overwrite', 'take back later changes, too, where the plan names some')
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(withCli((cli, entry: string | undefined, _own: object, command: Command) => undo(cli, entry, command)));
}

/** A time, or how long ago it was. */
const timeOption = (text: string): string =>
  /^\d+[a-z]$/.test(text) ? new Date(Date.now() - durationOption(text)).toISOString() : text;

async function undo(cli: Cli, entry: string | undefined, command: Command): Promise<void> {
  // `audit` has some of the options as well, and takes them first.
  const options = command.optsWithGlobals<UndoOptions>();
  const { overwrite = false, dryRun = false, yes = false } = options;
  const api = await connectTeam(cli);
  const send = senderOf(api, entry, options);
  const plan = (await send({ dryRun: true })).body;
  const sets = wantedSets(plan);
  const zone = sets.length === 0 ? null : await connectZone(cli);
  const setPlan = zone && planChanges(await zone.list(), sets, zone.context);
  cli.result(plan, () => undoText(plan, setPlan, cli.style));
  refuse(plan, setPlan, overwrite);
  if (dryRun) return;
  await confirm(cli.io, 'Make these changes?', yes);
  const refused: UndoItem[] = [];
  if (plan.items.some(({ kind, state }) => kind === 'cluster' && state === 'planned')) {
    const { items } = (await send({ dryRun: false, ...(overwrite && { overwrite: plan.tag }) })).body;
    for (const { name, operation } of items) if (operation !== null) cli.note(`${name}: operation ${operation.id}`);
    // Only what was planned has changes.
    refused.push(...items.filter(({ state, changes }) => state === 'impossible' && changes.length > 0));
    for (const { name, reason } of refused) cli.alert(printable(`${name}: ${reason}`));
  }
  if (setPlan !== null) await runPlan(cli, zone as DnsZone, setPlan);
  if (refused.length > 0) throw new CliExit('refused');
}

function senderOf({ client, team, signal }: TeamApi, entry: string | undefined, options: UndoOptions) {
  const { request: requestId, since, until, actor, name, token } = options;
  const isSpan = requestId !== undefined || since !== undefined;
  if ((entry === undefined) !== isSpan) throw usageError('Name an entry, or --request, or --since.');
  return ({ dryRun, overwrite }: { readonly dryRun: boolean; readonly overwrite?: string }) => {
    const sent = { ...(dryRun && { query: { dryRun } }), signal };
    const body = overwrite === undefined ? {} : { overwrite };
    if (entry !== undefined) return client.undoAuditEntry({ team, id: entry }, { ...sent, body });
    const span = Object.entries({ requestId, since, until, actor, name, token }).filter(
      ([, value]) => value !== undefined,
    );
    return client.undoAudit({ team }, { ...sent, body: { ...Object.fromEntries(span), ...body } });
  };
}

/** What somebody changes between the plan and the read of the zone is named, not lost. */
const wantedSets = ({ items }: UndoPlan): WantedSet[] =>
  items.flatMap(({ kind, state, name, type, to, now }) =>
    kind === 'recordSet' && state === 'planned' && type !== null
      ? [{ name, type, content: to as SetContent | null, seen: now as SetContent | null }]
      : [],
  );

/** @throws CliError if the plan cannot be carried out */
function refuse({ items }: UndoPlan, sets: ChangePlan | null, overwrite: boolean): void {
  if (items.length > 0 && items.every(({ state }) => state === 'impossible')) {
    throw new CliError('refused', 'Nothing of this can be taken back.');
  }
  if (sets?.quotaProblem) throw new CliError('refused', sets.quotaProblem);
  const isConflict = items.some(({ overwrites }) => overwrites.length > 0);
  if (isConflict && !overwrite) {
    throw new CliError('conflict', 'Later changes would be lost, too. If they shall be, add --overwrite.');
  }
  if (sets !== null && sets.warnings.length > 0) {
    throw new CliError('conflict', 'Somebody has just changed some of it. Run the command again for the new plan.');
  }
}

function undoText({ items }: UndoPlan, sets: ChangePlan | null, style: Cli['style']): string {
  if (items.length === 0) return 'No entry fits.\n';
  const others = items.map((item) => itemLines(item, style).join('\n')).filter((text) => text !== '');
  return [...others.map((text) => `${text}\n`), ...(sets === null ? [] : [planText(sets, style)])].join('');
}

function itemLines(item: UndoItem, style: Cli['style']): string[] {
  const { kind, name, type, state, reason, changes, effects, costDifference } = item;
  const title = printable(kind === 'cluster' ? `cluster ${name}` : `${name}${type === null ? '' : ` ${type}`}`);
  if (state === 'impossible') return [style('yellow', `! ${title}: ${reason}`), ...laterLines(item, style)];
  if (state === 'same') return [`  ${title}  is as it was before`];
  if (kind === 'recordSet') return laterLines(item, style);
  return [
    style('bold', `~ ${title}`),
    ...changes.map((change) => `    ${fieldText(change)}`),
    ...effects.filter((effect) => effect.kind !== 'kept').map((effect) => `    ${effectText(effect, style)}`),
    ...(costDifference === null ? [] : costLines(costDifference.monthly, null)).map((line) => `    ${line}`),
    ...laterLines(item, style),
  ];
}

/** What was changed since, and whether that would be lost. */
const laterLines = ({ name, type, overwrites, changedSince }: UndoItem, style: Cli['style']): string[] => [
  ...(overwrites.length === 0
    ? []
    : [
        style(
          'yellow',
          printable(`! ${name} ${type ?? ''}: this takes back later changes of ${overwrites.join(', ')}`),
        ),
      ]),
  ...changedSince.map(({ id, createdAt, actor, action }) =>
    printable(`    changed since: ${createdAt} ${actor.name ?? actor.kind} ${action} (${id})`),
  ),
];
