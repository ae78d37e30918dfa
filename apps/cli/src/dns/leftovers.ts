import { acmeLeftovers, planChanges, removalOf } from '@corral/domain';
import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { confirm } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { connectZone, setBody } from './dns-zone.js';
import { planBody, planText } from './plan-text.js';
import { runPlan } from './run-plan.js';

interface LeftoverOptions {
  readonly delete?: true;
  readonly dryRun?: true;
  readonly yes?: boolean;
}

/** ACME challenges that nobody took away. The DNS API shows no ages, so this asks both APIs. */
export async function leftovers(cli: Cli, { delete: isDeletion, dryRun, yes = false }: LeftoverOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const zone = await connectZone(cli);
  const rrsets = await zone.list();
  const { items } = (await client.listRecordSetChanges({ team }, { signal })).body;
  const found = acmeLeftovers(rrsets, items, new Date());
  if (isDeletion !== true || found.length === 0) {
    const listed = found.map(({ rrset, changedAt }) => ({ ...setBody(rrset), changedAt: changedAt.toISOString() }));
    return showList(cli, listed, 'leftovers of ACME challenges', {
      NAME: ({ name }) => name,
      CHANGED: ({ changedAt }) => changedAt,
      VALUES: ({ records }) => records.map(({ value }) => value).join('\n'),
    });
  }
  const plan = planChanges(
    rrsets,
    found.map(({ rrset }) => removalOf(rrset)),
    zone.context,
  );
  cli.result(planBody(plan), () => planText(plan, cli.style));
  if (dryRun) return;
  await confirm(cli.io, 'Delete these?', yes);
  await runPlan(cli, zone, plan);
}
