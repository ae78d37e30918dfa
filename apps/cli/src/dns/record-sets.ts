import { isAtOrBelow, type Rrset, textValue } from '@corral/contracts';
import {
  asJson,
  asTerraform,
  asZoneFile,
  contentOf,
  labelTexts,
  planChanges,
  type SetContent,
  type WantedSet,
} from '@corral/domain';
import type { Cli } from '../cli.js';
import { CliError, usageError } from '../exit-codes.js';
import { confirm } from '../output/ask.js';
import { renderTable } from '../output/table.js';
import { connectZone, type DnsZone, readSet, setBody } from './dns-zone.js';
import { planBody, planText } from './plan-text.js';
import { runPlan } from './run-plan.js';

export async function listSets(cli: Cli, name: string | undefined, options: { type?: string[] }): Promise<void> {
  const types = options.type?.map((type) => type.toUpperCase());
  const zone = await connectZone(cli);
  const found = (await zone.list()).filter(
    (rrset) => (name === undefined || isAtOrBelow(rrset.name, name)) && (types?.includes(rrset.type) ?? true),
  );
  cli.result(found.map(setBody), () =>
    found.length === 0
      ? 'There are no record sets.\n'
      : renderTable(found, {
          NAME: ({ name: shown }) => shown,
          TYPE: ({ type }) => type,
          TTL: ({ ttl }) => ttl,
          VALUES: ({ records }) => records.map(({ value }) => value).join('\n'),
          LABELS: ({ labels }) => labelTexts(labels).join('\n'),
        }),
  );
}

interface SetOptions {
  readonly add?: true;
  readonly ttl?: number | null;
  readonly comment?: string;
  readonly label?: string[];
  readonly dryRun?: true;
}

export async function setSet(
  cli: Cli,
  name: string,
  givenType: string,
  values: string[],
  { add, ttl, comment, label, dryRun }: SetOptions,
): Promise<void> {
  const type = givenType.toUpperCase();
  const zone = await connectZone(cli);
  const current = await readSet(zone, { name, type });
  const from = current === null ? null : contentOf(current);
  const given = values.map((value) => ({
    value: type === 'TXT' ? textValue(value) : value,
    comment: comment ?? null,
  }));
  const isGiven = new Set(given.map(({ value }) => value));
  const kept = add === true ? (from?.records.filter(({ value }) => !isGiven.has(value)) ?? []) : [];
  const content: WantedSet['content'] = {
    records: [...kept, ...given],
    ttl: ttl === undefined ? (from?.ttl ?? null) : ttl,
    ...(label === undefined ? {} : { labels: labelsOf(label) }),
  };
  await change(cli, zone, current, { name, type, content }, { dryRun: dryRun === true });
}

export async function deleteSets(
  cli: Cli,
  name: string,
  givenType: string,
  givenValues: string[],
  { dryRun = false, yes = false }: { readonly dryRun?: boolean; readonly yes?: boolean },
): Promise<void> {
  const type = givenType.toUpperCase();
  const zone = await connectZone(cli);
  const current = await readSet(zone, { name, type });
  if (current === null)
    throw new CliError('notFound', `There is no record set ${name} ${type}, or the token has no access to it.`);
  const values = givenValues.map((value) => (type === 'TXT' ? textValue(value) : value));
  const from = contentOf(current);
  const missing = values.find((value) => !from.records.some((record) => record.value === value));
  if (missing !== undefined) throw new CliError('notFound', `${name} ${type} has no value ${missing}.`);
  const records = values.length === 0 ? [] : from.records.filter(({ value }) => !values.includes(value));
  const content: SetContent | null = records.length === 0 ? null : { ...from, records };
  await change(cli, zone, current, { name, type, content }, { dryRun, yes, isDeletion: true });
}

interface HowToChange {
  readonly dryRun: boolean;
  readonly yes?: boolean;
  readonly isDeletion?: boolean;
}

async function change(
  cli: Cli,
  zone: DnsZone,
  current: Rrset | null,
  wanted: WantedSet,
  { dryRun, yes = false, isDeletion = false }: HowToChange,
): Promise<void> {
  const plan = planChanges(current === null ? [] : [current], [wanted], zone.context);
  const [refused] = plan.refused;
  if (refused !== undefined) throw new CliError('refused', `${refused.key}: ${refused.refusal}`);
  if (plan.quotaProblem !== null) throw new CliError('refused', plan.quotaProblem);
  cli.result(planBody(plan), () => planText(plan, cli.style));
  if (dryRun) return;
  if (isDeletion) await confirm(cli.io, 'Delete this?', yes);
  await runPlan(cli, zone, plan);
}

function labelsOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw usageError(`${pair} is no label. Use key=value.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

export async function exportSets(
  cli: Cli,
  { format }: { readonly format: 'zone' | 'json' | 'terraform' },
): Promise<void> {
  const { zone, list } = await connectZone(cli);
  const rrsets = await list();
  if (format === 'json') cli.raw(asJson(rrsets));
  else cli.raw(format === 'terraform' ? asTerraform(rrsets, zone) : asZoneFile(rrsets, zone));
}
