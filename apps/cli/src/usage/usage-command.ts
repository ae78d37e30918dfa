import type { ClusterSchemas } from '@corral/client';
import { usageSteps } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { showList } from '../output/show-list.js';
import { renderFacts, renderTable } from '../output/table.js';

type Step = (typeof usageSteps)[number];

export function usageCommand(withCli: WithCli): Command {
  return new Command('usage')
    .description('what the team used over time: requests, records, nodes and money')
    .addOption(new Option('--step <step>', 'of which length').choices(usageSteps))
    .option('--from <time>', 'start (RFC 3339)')
    .option('--to <time>', 'end')
    .action(withCli(showUsage));
}

interface UsageOptions {
  readonly step?: Step;
  readonly from?: string;
  readonly to?: string;
}

async function showUsage(cli: Cli, query: UsageOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.getUsage({ team }, { query, signal });
  const { records, tokens, requests, upstream } = (await client.getDnsUsage({ team }, { signal })).body;
  if (cli.options.output === 'table') {
    cli.note(
      renderFacts([
        ['Records', `${records.used} of ${records.limit}`],
        ['DNS tokens', `${tokens.active} of ${tokens.limit}`],
        ['Requests', `${requests.lastHour} in the last hour, ${requests.limitPerMinute} per minute allowed`],
        [
          'Provider',
          upstream.remaining === null ? null : `${upstream.remaining} of ${upstream.limit} calls left for all teams`,
        ],
        ...body.savedBySleep.map((saved) => ['Saved', `${savedText(saved)} by the sleep of ${saved.cluster}`] as const),
      ]).trimEnd(),
    );
  }
  cli.result(body, () =>
    renderTable(body.points, {
      FROM: ({ from }) => from,
      REQUESTS: (point) => point.requests,
      WRITES: ({ writes }) => writes,
      RECORDS: (point) => point.records.used,
      CLUSTERS: ({ clusters }) => clusters,
      NODES: ({ nodes }) => nodes,
      COST: ({ cost: { minimum, maximum, currency } }) => minimum && `${minimum}–${maximum} ${currency}`,
    }),
  );
}

/** "41.30 EUR since 2026-11-21T11:45:00.000Z" */
export const savedText = ({ amount, currency, since }: ClusterSchemas['SavedBySleep']): string =>
  `${amount} ${currency} since ${since}`;

export function catalogueCommand(withCli: WithCli): Command {
  return new Command('catalogue')
    .description('what the team may declare: machine types with prices, versions, regions')
    .option('--connection <ref>', 'as the project of this connection sees it')
    .action(withCli(showCatalogue));
}

async function showCatalogue(cli: Cli, query: { readonly connection?: string }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.getCatalogue({ team }, { query, signal });
  const { machineTypes, kubernetesVersions, regions, currency } = body;
  if (cli.options.output !== 'table') return cli.result(body, '');
  showList(cli, kubernetesVersions, 'Kubernetes versions', {
    VERSION: ({ version }) => version,
    NAME: ({ newestOf }) => newestOf,
    STATE: ({ classification }) => classification,
    UNTIL: ({ supportedUntil }) => supportedUntil,
  });
  cli.raw('\n');
  showList(cli, regions, 'regions', { REGION: ({ name }) => name, ZONES: ({ zones }) => zones.join(', ') });
  cli.raw('\n');
  showList(cli, machineTypes, 'machine types', {
    MACHINE: ({ name }) => name,
    CORES: ({ cores }) => cores,
    GIB: ({ memoryGiB }) => memoryGiB,
    ARCHITECTURE: ({ architecture }) => architecture,
    [`${currency ?? ''} PER MONTH`.trim()]: (type) =>
      type.regions.map(({ name, monthly }) => `${name} ${monthly ?? 'not known'}`).join('\n'),
  });
}
