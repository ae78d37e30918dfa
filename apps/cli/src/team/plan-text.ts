import type { Cli } from '../cli.js';
import { fieldText } from '../clusters/effect-text.js';
import { attemptBody, isChange, plansText } from '../clusters/plan-documents.js';
import { signed } from '../clusters/plan-text.js';
import { planBody, planText } from '../dns/plan-text.js';
import { type AccessChange, accessFields } from './access.js';
import { kindNames } from './documents.js';
import type { TeamPlan } from './plan.js';

/** The whole plan for people. What is wrong is said elsewhere. */
export function teamPlanText(cli: Cli, plan: TeamPlan): string {
  const { clusters, sets, access } = plan;
  return [
    plansText(cli, clusters),
    sets === null ? '' : planText({ ...sets.plan, refused: [], quotaProblem: null }, cli.style),
    ...access.map((change) => accessText(cli, change)),
    totalsText(plan),
  ].join('');
}

function accessText({ style }: Cli, change: AccessChange): string {
  const { kind, name, from, to } = change;
  const [sign, colour] =
    to === null ? (['-', 'red'] as const) : from === null ? (['+', 'green'] as const) : (['~', 'cyan'] as const);
  const fields = to === null ? [] : accessFields(change).map((field) => `    ${fieldText(field)}`);
  return `${[style(colour, `${sign} ${kindNames[kind]} ${name}`), ...fields].join('\n')}\n`;
}

function totalsText(plan: TeamPlan): string {
  const { records, monthly } = totalsOf(plan);
  const amounts = monthly.filter(isSome).map(({ currency, minimum, maximum }) => {
    const range = minimum === maximum ? signed(minimum) : `${signed(minimum)} to ${signed(maximum)}`;
    return `${range} ${currency ?? ''}`.trimEnd();
  });
  return [
    records === null ? '' : `Records: ${records.after} of ${records.limit}.\n`,
    amounts.length === 0 ? '' : `Cost: ${amounts.join(', ')} a month.\n`,
  ].join('');
}

const isSome = ({ minimum, maximum }: Amounts): boolean => Number(minimum) !== 0 || Number(maximum) !== 0;

interface Amounts {
  readonly currency: string | null;
  readonly minimum: string;
  readonly maximum: string;
}

/** What the plan as a whole needs: records of the quota, and money, by its currency. Costs that nobody knows are left out. */
export function totalsOf({ clusters, sets }: Pick<TeamPlan, 'clusters' | 'sets'>) {
  const sums = new Map<string | null, [minimum: number, maximum: number]>();
  for (const each of clusters) {
    const { costDifference } = isChange(each) ? each.plan : each.deletion;
    const { currency } = isChange(each) ? each.plan.cost : each.deletion.resource.status.cost;
    const { minimum, maximum } = costDifference.monthly;
    const [least, most] = sums.get(currency) ?? [0, 0];
    if (minimum !== null && maximum !== null) sums.set(currency, [least + Number(minimum), most + Number(maximum)]);
  }
  const monthly = [...sums].map(
    ([currency, [minimum, maximum]]): Amounts => ({
      currency,
      minimum: minimum.toFixed(2),
      maximum: maximum.toFixed(2),
    }),
  );
  const records = sets === null ? null : { after: sets.plan.recordsAfter, limit: sets.zone.context.records.limit };
  return { records, monthly };
}

/** The plan as data. */
export const teamPlanBody = (plan: TeamPlan) => ({
  clusters: plan.clusters.map(attemptBody),
  recordSets: plan.sets === null ? null : planBody(plan.sets.plan),
  access: plan.access.map((change) => ({
    kind: change.kind,
    name: change.name,
    source: change.source,
    exists: change.from !== null,
    deleted: change.to === null,
    changes: accessFields(change),
  })),
  ...totalsOf(plan),
  errors: plan.wrong.map(({ name, source, failure }) => ({ name, source, message: failure.sentence })),
});
