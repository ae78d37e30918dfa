import type { ClusterSchemas } from '@corral/client';
import { type AuditKind, type AuditOutcome, auditKinds, auditOutcomes, clusterLimits } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam, type TeamApi } from '../clusters/team-api.js';
import { printable, renderTable } from '../output/table.js';
import { wholeNumber } from '../settings/options.js';
import { newEntries } from './new-entries.js';
import { undoCommand } from './undo-command.js';

type AuditEntry = ClusterSchemas['AuditEntry'];

interface AuditOptions {
  readonly follow?: boolean;
  readonly limit: number;
  readonly kind?: AuditKind;
  readonly outcome?: AuditOutcome;
  readonly action?: string;
  readonly actor?: string;
  readonly name?: string;
  readonly requestId?: string;
  readonly from?: string;
  readonly to?: string;
}

export function auditCommand(withCli: WithCli): Command {
  return new Command('audit')
    .description('what was done in the name of the team over both APIs, newest last (administrators)')
    .option('--follow', 'keep showing new entries until Ctrl-C')
    .addOption(
      new Option('--limit <entries>', 'how many of the newest entries to show')
        .argParser(wholeNumber(100_000))
        .default(50),
    )
    .addOption(new Option('--kind <kind>', 'only entries about this kind').choices(auditKinds))
    .addOption(new Option('--outcome <outcome>', 'only entries with this outcome').choices(auditOutcomes))
    .option('--action <action>', 'only entries of this action, such as cluster.delete')
    .option('--actor <actor>', 'e-mail address, or user, account, token, service, operator …')
    .option('--name <name>', 'only entries about this name')
    .option('--request-id <id>', 'only what the request with this X-Correlation-Id did')
    .option('--from <time>', 'only entries at or after this time (RFC 3339)')
    .option('--to <time>', 'only entries before this time')
    .action(withCli(showAudit))
    .addCommand(undoCommand(withCli));
}

const POLL_MS = 2_000;
/** A transaction may end later than its entry says. */
const OVERLAP_MS = 60_000;

async function showAudit(cli: Cli, options: AuditOptions): Promise<void> {
  const { follow = false, limit, requestId, ...filters } = options;
  const query = { ...filters, ...(requestId !== undefined && { request_id: requestId }) };
  const api = await connectTeam(cli);
  const entries = (await newest(api, query, limit)).reverse();
  if (!follow) {
    cli.result(entries, () => (entries.length === 0 ? 'There are no entries.\n' : renderTable(entries, columns)));
    return;
  }
  await followEntries(cli, api, query, entries);
}

const columns = {
  AT: ({ createdAt }: AuditEntry) => createdAt,
  ACTOR: ({ actor }: AuditEntry) => actor.name ?? actor.kind,
  ACTION: ({ action }: AuditEntry) => action,
  TARGET: targetOf,
  OUTCOME: ({ outcome }: AuditEntry) => outcome,
};

function targetOf({ target, dns }: AuditEntry): string {
  return dns === null ? target.name || target.id : `${dns.name} ${dns.type}`;
}

type AuditQuery = Omit<AuditOptions, 'follow' | 'limit' | 'requestId'> & { readonly request_id?: string };

async function newest({ client, team, signal }: TeamApi, query: AuditQuery, limit: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  const page = Math.min(limit, clusterLimits.listItemsMax);
  for await (const entry of client.list('listAudit', { team }, { query: { ...query, limit: page }, signal })) {
    entries.push(entry as AuditEntry);
    if (entries.length >= limit) break;
  }
  return entries;
}

/** One line for each entry, and another one when its outcome becomes known. */
async function followEntries(cli: Cli, api: TeamApi, query: AuditQuery, first: AuditEntry[]): Promise<void> {
  const { io } = cli;
  const ended = AbortSignal.any([io.signal, io.outputClosed]);
  const news = newEntries();
  let entries = first;
  let since = Date.parse(first.at(-1)?.createdAt ?? query.from ?? new Date().toISOString());
  while (!ended.aborted) {
    for (const entry of news(entries)) cli.raw(lineOf(cli, entry));
    since = Math.max(since, ...entries.map(({ createdAt }) => Date.parse(createdAt)));
    await io.sleep(POLL_MS, ended);
    if (ended.aborted) return;
    const from = new Date(since - OVERLAP_MS).toISOString();
    entries = (await newest(api, { ...query, from }, Number.POSITIVE_INFINITY)).reverse();
  }
}

function lineOf({ options }: Cli, entry: AuditEntry): string {
  if (options.output === 'json') return `${JSON.stringify(entry)}\n`;
  const { createdAt, actor, action, outcome } = entry;
  return `${printable([createdAt, actor.name ?? actor.kind, action, targetOf(entry), outcome].join('  '))}\n`;
}
