import type { Prisma } from '@corral/database';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import { wholeNumber } from '../option-parsers.js';
import { renderTable } from '../table.js';

interface AuditOptions {
  readonly limit: number;
  readonly before?: number;
  readonly name?: string;
  readonly type?: string;
  readonly requestId?: string;
}

export function auditCommand(withContext: WithContext): Command {
  return new Command('audit')
    .argument('[team]')
    .description(
      'show the writes of a team and changes by others, newest first; with --request-id, what one request did in any team',
    )
    .option('--request-id <id>', 'what the request with this X-Correlation-Id did')
    .option('--limit <n>', 'entries to show, 1 to 1000', wholeNumber(1_000), 20)
    .option(
      '--before <cursor>',
      'show entries before this cursor, printed by the previous page',
      wholeNumber(Number.MAX_SAFE_INTEGER),
    )
    .option('--name <name>', 'only record sets of this name')
    .option('--type <type>', 'only record sets of this type')
    .action(
      withContext(async (context, slug: string | undefined, options: AuditOptions) => {
        const { getTeam, prisma, print } = context;
        if (options.requestId !== undefined) return printRequest(context, options.requestId);
        if (slug === undefined) throw new OperatorError('Name a team, or a request with --request-id.');
        const team = await getTeam(slug);
        const { rows, before } = await listEntries(prisma, team.id, options);
        const more = before === null ? '' : `\nFor the next page, add --before ${before}.\n`;
        const text = rows.length === 0 ? 'No entries found.\n' : auditTable(rows) + more;
        print({ entries: rows.map(shownEntry), before }, text);
      }),
    );
}

/** Prints the entries of a request from both logs: of record sets, and of all else. */
async function printRequest({ prisma, print }: AdminContext, requestId: string): Promise<void> {
  const where = { requestId };
  const team = { select: { slug: true } } as const;
  const writes = await prisma.dnsAuditEntry.findMany({ where, include: { team }, orderBy: { id: 'asc' } });
  const acts = await prisma.auditEntry.findMany({
    where,
    include: { team, user: { select: { email: true } } },
    orderBy: { id: 'asc' },
  });
  const entries = [
    ...writes.map(({ createdAt: at, team, operation, name, type, state, upstreamStatus }) => ({
      ...{ at, team: team?.slug ?? null, by: null, action: `rrset.${operation}`, target: `${name} ${type}` },
      outcome: upstreamStatus === null ? state : `${state} (${upstreamStatus})`,
    })),
    ...acts.map(({ createdAt: at, team, user, operator, action, targetName: target }) => ({
      ...{ at, team: team.slug, by: user?.email ?? operator, action, target, outcome: 'done' },
    })),
  ];
  const table = renderTable(entries, {
    TIME: ({ at }) => at.toISOString(),
    TEAM: ({ team }) => team,
    BY: ({ by }) => by,
    ACTION: ({ action }) => action,
    TARGET: ({ target }) => target,
    OUTCOME: ({ outcome }) => outcome,
  });
  print(
    { entries },
    entries.length === 0 ? 'The request has changed nothing, or is older than the audit log.\n' : table,
  );
}

interface AuditPage {
  readonly rows: readonly AuditRow[];
  /** Shows the next older entries as `--before`; null on the last page. */
  readonly before: number | null;
}

const token = { select: { id: true, name: true } } as const;
type AuditRow = Awaited<ReturnType<typeof readRows>>[number];

const readRows = (prisma: Prisma, teamId: string, { limit, before, name, type }: AuditOptions) =>
  prisma.dnsAuditEntry.findMany({
    where: {
      teamId,
      ...(before === undefined ? {} : { id: { lt: before } }),
      ...(name === undefined ? {} : { name }),
      ...(type === undefined ? {} : { type }),
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
    include: { token },
  });

/** The entries of a team, newest first. */
async function listEntries(prisma: Prisma, teamId: string, options: AuditOptions): Promise<AuditPage> {
  const rows = await readRows(prisma, teamId, options);
  const page = rows.slice(0, options.limit);
  return { rows: page, before: rows.length > page.length ? Number(page.at(-1)?.id) : null };
}

/** An entry with these members, whatever other columns there are. */
function shownEntry(row: AuditRow) {
  const { actor, token, name, type, operation, state, foundApplied, completedAt } = row;
  const { requestBody, upstreamStatus, upstreamBody, foundBody, beforeBody, afterBody, count, refusalCode } = row;
  return {
    id: Number(row.id),
    at: row.createdAt,
    ...{ actor, token, name, type, operation, state, foundApplied, completedAt },
    ...{ requestBody, upstreamStatus, upstreamBody, foundBody, beforeBody, afterBody, count, refusalCode },
    requestBodyCut: cutOf(row.requestBytes, row.requestSha256),
    upstreamBodyCut: cutOf(row.upstreamBytes, row.upstreamSha256),
    foundBodyCut: cutOf(row.foundBytes, row.foundSha256),
    beforeBodyCut: cutOf(row.beforeBytes, row.beforeSha256),
    afterBodyCut: cutOf(row.afterBytes, row.afterSha256),
  };
}

/** Size and hash of a body that was truncated; null for a body stored whole. */
const cutOf = (bytes: number | null, sha256: Uint8Array | null) =>
  bytes === null || sha256 === null ? null : { bytes, sha256: Buffer.from(sha256).toString('hex') };

function auditTable(rows: readonly AuditRow[]): string {
  return renderTable(rows, {
    ENTRY: ({ id }) => Number(id),
    TIME: ({ createdAt }) => createdAt.toISOString(),
    BY: ({ token, actor }) => token?.name ?? actor,
    OPERATION: ({ operation }) => operation,
    NAME: ({ name }) => name,
    TYPE: ({ type }) => type,
    OUTCOME: outcomeOf,
    STATUS: ({ upstreamStatus, refusalCode }) => upstreamStatus ?? refusalCode,
    COUNT: ({ count }) => count,
  });
}

function outcomeOf({ state, foundApplied, foundBody }: AuditRow): string {
  if (state === 'settled') return foundApplied ? 'found applied' : 'found not applied';
  if (state === 'observed') return foundBody === null ? 'found removed' : 'found changed';
  return state;
}
