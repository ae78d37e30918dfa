import type { Printer } from '../output/printer.js';
import { printable } from '../output/table.js';
import { type Effect, fieldText, targetText } from './effect-text.js';
import type { PlannedChange } from './planned-change.js';

type Style = Printer['style'];

const colours: Readonly<Record<string, Parameters<Style>[0]>> = {
  created: 'green',
  started: 'green',
  added: 'green',
  deleted: 'red',
  removed: 'red',
  replaced: 'yellow',
  hibernated: 'yellow',
};

/** A plan for people: the changed fields, what they do, and what that costs. */
export function clusterPlanText({ document, current, plan }: PlannedChange, style: Style): string {
  const { changes, effects, costDifference, cost, recordSets } = plan;
  const title = `${current === null ? '+' : effects.length + changes.length > 0 ? '~' : ' '} cluster ${document.name}`;
  const shown = style('bold', title);
  if (current !== null && changes.length === 0 && effects.length === 0) return `${shown}  unchanged\n`;
  const lines = [
    shown,
    // All fields of a new cluster are new.
    ...(current === null ? [] : changes.map((change) => `    ${fieldText(change)}`)),
    ...effects.filter(({ kind }) => kind !== 'kept').map((effect) => `    ${effectText(effect, style)}`),
  ];
  lines.push(...recordSetLines(recordSets).map((line) => `    ${line}`));
  lines.push(...costLines(costDifference.monthly, cost.currency).map((line) => `    ${line}`));
  return `${lines.join('\n')}\n`;
}

/** The record sets that lead to what goes, a line each. @param recordSets undefined from a service before this field */
export const recordSetLines = (recordSets: readonly RecordSet[] | undefined): string[] =>
  (recordSets ?? []).map(
    ({ name, zone, type, values }) =>
      `record set ${printable(`${name}.${zone} ${type}`)} leads to it: ${printable(values.join(', '))}`,
  );

type RecordSet = PlannedChange['plan']['recordSets'][number];

/** A deletion or a change of nodes, in a line. */
export function effectText(effect: Effect, style: Style): string {
  const kind = style(colours[effect.kind] ?? 'cyan', effect.kind);
  return `${targetText(effect)} ${kind}${detailText(effect)}. ${printable(effect.reason)}`;
}

function detailText(effect: Effect): string {
  if (effect.target === 'cluster') {
    const { before, after } = effect.kubernetesVersion;
    return before === after || before === null || after === null ? '' : ` ${before} → ${after}`;
  }
  const { before, after } = effect.nodes;
  const range = (nodes: typeof before) => (nodes === null ? 'none' : rangeText(nodes));
  return range(before) === range(after) ? '' : ` ${range(before)} → ${range(after)} nodes`;
}

/** Fewest and most nodes. */
export const rangeText = ({ minimum, maximum }: { readonly minimum: number; readonly maximum: number }): string =>
  minimum === maximum ? String(minimum) : `${minimum}–${maximum}`;

/** What a change costs per month, in a line; none if that is not known, or nothing. */
export function costLines(
  { minimum, maximum }: { readonly minimum: string | null; readonly maximum: string | null },
  currency: string | null,
): string[] {
  if (minimum === null || maximum === null || (Number(minimum) === 0 && Number(maximum) === 0)) return [];
  return [`cost per month: ${signed(minimum)} to ${signed(maximum)} ${currency ?? ''}`.trimEnd()];
}

/** An amount of money with its sign. */
export function signed(amount: string): string {
  const rounded = Number(amount).toFixed(2);
  return Number(rounded) > 0 ? `+${rounded}` : rounded;
}

/** The plan as data. */
export const clusterPlanBody = ({ document, current, plan }: PlannedChange) => ({
  name: document.name,
  source: document.source,
  exists: current !== null,
  changes: plan.changes,
  effects: plan.effects,
  recordSets: plan.recordSets ?? [],
  costDifference: plan.costDifference,
});
