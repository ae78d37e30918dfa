import { readFile, stat } from 'node:fs/promises';
import { type ParsedZoneFile, parseZoneFile, zoneFileLimits } from '@corral/contracts';
import { type ChangePlan, planChanges, setsMissingIn, setsOfZoneFile } from '@corral/record-changes';
import type { Cli } from '../cli.js';
import { CliError, CliExit, usageError } from '../exit-codes.js';
import { confirm, readAll } from '../output/ask.js';
import { plural } from '../output/plural.js';
import { printable } from '../output/table.js';
import { withDiffCodes } from '../output/with-diff-codes.js';
import { connectZone, type DnsZone } from './dns-zone.js';
import { planBody, planText } from './plan-text.js';
import { runPlan } from './run-plan.js';

interface ImportOptions {
  readonly prune?: boolean;
  readonly partial?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function importZoneFile(cli: Cli, file: string, options: ImportOptions): Promise<void> {
  const { prune = false, partial = false, dryRun = false, yes = false } = options;
  const text = await readZoneFile(cli, file);
  const zone = await connectZone(cli);
  const { plan, parsed } = await planOf(zone, text, prune);
  cli.result(planBody(plan), () => planText(plan, cli.style));
  showNotes(cli, file, parsed);
  if (plan.quotaProblem !== null) throw new CliError('refused', plan.quotaProblem);
  const left = parsed.problems.length + plan.refused.length;
  if (left > 0 && !partial) {
    const what = `${plural(parsed.problems.length, 'line')} cannot be read, ${plural(plan.refused.length, 'set')} cannot be written`;
    throw new CliError(
      'refused',
      `Nothing was changed: ${what}. Correct the file, or add --partial to leave them out.`,
    );
  }
  if (dryRun || plan.waves.length === 0) return;
  await confirm(cli.io, 'Make these changes?', yes);
  await runPlan(cli, zone, plan);
}

/** Ends with 1 if there are differences, and with 2 after any error, as `diff` does. */
export function diffZoneFile(cli: Cli, file: string, { prune = false }: { readonly prune?: boolean }): Promise<void> {
  return withDiffCodes(cli, async () => {
    const text = await readZoneFile(cli, file);
    const { plan, parsed } = await planOf(await connectZone(cli), text, prune);
    cli.result(planBody(plan), () => planText(plan, cli.style));
    showNotes(cli, file, parsed);
    if (parsed.problems.length > 0)
      throw usageError(`${plural(parsed.problems.length, 'line')} of ${file} cannot be read.`);
    if (plan.waves.length + plan.refused.length > 0) throw new CliExit('refused');
  });
}

async function planOf(
  { zone, list, context }: DnsZone,
  text: string,
  prune: boolean,
): Promise<{ plan: ChangePlan; parsed: ParsedZoneFile }> {
  const parsed = parseZoneFile(text, { zoneName: zone.name, zoneTtl: zone.ttl });
  // A set of which a line cannot be read looks missing.
  if (prune && parsed.problems.length > 0) {
    const [{ line, message } = { line: 0, message: '' }] = parsed.problems;
    throw usageError(`Nothing is deleted by a file that cannot be read as a whole: line ${line}: ${message}`);
  }
  const actual = await list();
  const wanted = [...setsOfZoneFile(parsed), ...(prune ? setsMissingIn(parsed, actual) : [])];
  return { plan: planChanges(actual, wanted, context), parsed };
}

function showNotes(cli: Cli, file: string, { problems, notes, unlisted }: ParsedZoneFile): void {
  for (const { line, message } of [...problems, ...notes]) cli.note(printable(`${file}:${line}: ${message}`));
  if (unlisted > 0) cli.note(`And ${unlisted} more.`);
}

async function readZoneFile({ io }: Cli, file: string): Promise<string> {
  if (file === '-') return readAll(io);
  try {
    const { size } = await stat(file);
    if (size > zoneFileLimits.characters * 4) throw usageError(`${file} is too large for a zone file.`);
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw usageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}
