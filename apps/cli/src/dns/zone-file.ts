import { readFile, stat } from 'node:fs/promises';
import {
  clusterLimits,
  decodeZoneFile,
  type ParsedZoneFile,
  type ZoneFileProblem,
  zoneFileLimits,
} from '@corral/contracts';
import { type ChangePlan, originIn, planZoneFile, readZoneFile, type ZoneFilePlan } from '@corral/domain';
import type { Cli } from '../cli.js';
import { connectTeam, findMe } from '../clusters/team-api.js';
import { CliError, CliExit, usageError } from '../exit-codes.js';
import { confirm, confirmCount, readAllBytes } from '../output/ask.js';
import { plural } from '../output/plural.js';
import { printable } from '../output/table.js';
import { withDiffCodes } from '../output/with-diff-codes.js';
import { dnsAccess } from '../settings/settings.js';
import { connectZone, type DnsTokenFacts, type DnsZone } from './dns-zone.js';
import { planBody, planText } from './plan-text.js';
import { runPlan } from './run-plan.js';

interface SourceOptions {
  readonly origin?: string;
  readonly encoding: string;
}

interface ImportOptions extends SourceOptions {
  /** Its value is what follows it: a number, or the file. */
  readonly prune?: true | string;
  readonly partial?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function importZoneFile(cli: Cli, givenFile: string | undefined, options: ImportOptions): Promise<void> {
  const { partial = false, dryRun = false } = options;
  const { file, isPruning, confirmed } = pruneOf(givenFile, options.prune);
  const text = await textOf(cli, file, options.encoding);
  const zone = await connectZone(cli);
  const { parsed, planned } = await planOf(cli, zone, { file, text, origin: options.origin }, isPruning);
  const { plan, isVoid } = planned;
  if (plan.quotaProblem !== null) throw new CliError('refused', plan.quotaProblem);
  const left = parsed.problems.length + plan.refused.length;
  if (left > 0 && !partial) {
    const lines = parsed.problems.length === 0 ? [] : [`${plural(parsed.problems.length, 'line')} cannot be read`];
    const sets = plan.refused.length === 0 ? [] : [`${plural(plan.refused.length, 'set')} cannot be written`];
    const what = [...lines, ...sets].join(', ');
    throw new CliError(
      'refused',
      `Nothing was changed: ${what}. Correct the file, or add --partial to leave this out.`,
    );
  }
  if (isVoid && plan.waves.length === 0) {
    throw new CliError('refused', 'Nothing was changed: the file has no record set that can be written.');
  }
  if (plan.waves.length === 0) return;
  await confirmPlan(cli, planned, { ...options, dryRun, confirmed });
  if (!dryRun) await runImport(cli, zone, plan);
}

/** Says how all of it is taken back, also after a failure, unless it is too much for one undo. */
async function runImport(cli: Cli, zone: DnsZone, plan: ChangePlan): Promise<void> {
  const isMuch = plan.waves.flat().length > clusterLimits.undoEntries;
  const writer = isMuch ? null : await writerOf(cli, zone.facts);
  const since = new Date().toISOString();
  await runPlan(cli, zone, plan).finally(() => {
    if (writer === null) return;
    cli.note(`Take it back: corral audit undo --since ${since} --until ${new Date().toISOString()} ${writer}`);
  });
}

/** What selects the entries of who writes. Null for a demo, whose changes cannot be taken back. */
async function writerOf(cli: Cli, { kind, id }: DnsTokenFacts): Promise<string | null> {
  if (kind === 'demo') return null;
  if (dnsAccess(await cli.given()) !== null) return `--token ${id}`;
  // The token of a session is replaced every 15 minutes.
  const { client, signal } = await connectTeam(cli);
  return `--actor ${(await findMe(client, signal))?.email ?? 'account'}`;
}

/** The parser of options takes a file that follows `--prune` for its value. */
function pruneOf(file: string | undefined, prune: ImportOptions['prune']) {
  const isCount = typeof prune === 'string' && /^\d{1,9}$/.test(prune);
  if (file === undefined && typeof prune === 'string' && !isCount) {
    return { file: prune, isPruning: true, confirmed: null };
  }
  if (file === undefined) throw usageError('Name the file, or - for standard input.');
  if (typeof prune === 'string' && !isCount) throw usageError(`${prune} is no number of record sets. Use --prune=12.`);
  return { file, isPruning: prune !== undefined, confirmed: isCount ? Number(prune) : null };
}

interface Asked {
  readonly dryRun: boolean;
  readonly yes?: boolean;
  /** How many sets may be removed; null if it was not said. */
  readonly confirmed: number | null;
}

/** Asks before anything is changed. `--yes` does not mean the removal of most sets. */
async function confirmPlan(cli: Cli, planned: ZoneFilePlan, { dryRun, yes = false, confirmed }: Asked): Promise<void> {
  const { removed, removesMost, existing } = planned;
  const isUnexpected = confirmed === null ? removesMost : removed > confirmed;
  if (!isUnexpected) return dryRun ? undefined : confirm(cli.io, 'Make these changes?', yes);
  const sentence = `This removes ${removed} of ${plural(existing, 'record set')}.`;
  if (dryRun) cli.note(`${sentence} It needs --prune=${removed}.`);
  else await confirmCount(cli.io, sentence, removed, `--prune=${removed}`);
}

/** Ends with 1 if there are differences, and with 2 after any error, as `diff` does. */
export function diffZoneFile(
  cli: Cli,
  file: string,
  { prune = false, origin, encoding }: SourceOptions & { readonly prune?: boolean },
): Promise<void> {
  return withDiffCodes(cli, async () => {
    const text = await textOf(cli, file, encoding);
    const { parsed, planned } = await planOf(cli, await connectZone(cli), { file, text, origin }, prune);
    if (parsed.problems.length > 0)
      throw usageError(`${plural(parsed.problems.length, 'line')} of ${file} cannot be read.`);
    if (planned.plan.waves.length + planned.plan.refused.length > 0) throw new CliExit('refused');
  });
}

/** Plans what the file asks for, and prints the plan. */
async function planOf(
  cli: Cli,
  { zone, list, context }: DnsZone,
  { file, text, origin }: { readonly file: string; readonly text: string; readonly origin: string | undefined },
  isPruning: boolean,
): Promise<{ parsed: ParsedZoneFile; planned: ZoneFilePlan }> {
  const below = origin === undefined ? undefined : originIn(origin, zone.name);
  if (below === null) throw usageError(`${origin} is no name in the zone ${zone.name}.`);
  const read = readZoneFile(text, { zoneTtl: zone.ttl, context, origin: below });
  const planned = planZoneFile(read, await list(), context, isPruning);
  cli.result(planBody(planned.plan, planned.notes), () => planText(planned.plan, cli.style, planned.notes));
  const { problems, notes, unlisted } = read.parsed;
  const at = ({ line, message }: ZoneFileProblem) => printable(`${file}:${line}: ${message}`);
  for (const problem of problems) cli.alert(at(problem));
  for (const note of notes) cli.note(at(note));
  if (unlisted > 0) cli.alert(`And ${unlisted} more.`);
  return { parsed: read.parsed, planned };
}

async function textOf(cli: Cli, file: string, encoding: string): Promise<string> {
  const bytes = await bytesOf(cli, file);
  try {
    const decoded = decodeZoneFile(bytes, encoding);
    if (typeof decoded === 'string') return decoded;
    throw usageError(
      `${file}:${decoded.line}: This line is not ${encoding.toUpperCase()}. Name the encoding of the file, such as --encoding=latin1, or save it as UTF-8.`,
    );
  } catch (error) {
    if (error instanceof RangeError) throw usageError(`${encoding} is no known encoding. Use a name such as latin1.`);
    throw error;
  }
}

async function bytesOf({ io }: Cli, file: string): Promise<Buffer> {
  if (file === '-') return readAllBytes(io);
  try {
    const { size } = await stat(file);
    if (size > zoneFileLimits.characters * 4) throw usageError(`${file} is too large for a zone file.`);
    return await readFile(file);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw usageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}
