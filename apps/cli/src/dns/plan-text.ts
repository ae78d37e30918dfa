import { type ChangePlan, hasSameLabels, labelTexts, type SetChange, type SetContent, ttlText } from '@corral/domain';
import { plural } from '../output/plural.js';
import type { Printer } from '../output/printer.js';
import { printable } from '../output/table.js';

type Style = Printer['style'];

/**
 * A plan for people: a line for each set and each of its differences, and a summary at the end.
 *
 * @param notes sentences about what is planned, such as the origin of a zone file
 */
export function planText(plan: ChangePlan, colours: Style, notes: readonly string[] = []): string {
  // Values are of anybody who writes in the zone: none of them moves a cursor.
  const style: Style = (colour, text) => colours(colour, printable(text));
  const changes = plan.waves.flat();
  const lines = [
    ...changes.flatMap((change) => changeLines(change, style)),
    ...plan.refused.map(({ key, source, refusal }) => style('yellow', `! ${key}${placeOf(source)}: ${refusal}`)),
    ...plan.warnings.map((warning) => style('yellow', `! ${warning}`)),
    ...(plan.quotaProblem === null ? [] : [style('yellow', `! ${plan.quotaProblem}`)]),
    ...notes.map(printable),
    summaryOf(plan),
  ];
  return `${lines.join('\n')}\n`;
}

const placeOf = (source: string | undefined): string => (source === undefined ? '' : ` (${source})`);

function changeLines({ key, from, to }: SetChange, style: Style): string[] {
  if (to === null) return [style('red', `- ${key}`), ...valuesOf(from).map((value) => style('red', `    - ${value}`))];
  if (from === null) {
    const ttl = to.ttl === null ? '' : `  ttl ${ttlText(to.ttl)}`;
    const labels = labelTexts(to.labels).map((label) => `  ${label}`);
    return [
      style('green', `+ ${key}${ttl}${labels.join('')}`),
      ...valuesOf(to).map((value) => style('green', `    + ${value}`)),
    ];
  }
  const [before, after] = [valuesOf(from), valuesOf(to)];
  return [
    style('cyan', `~ ${key}`),
    ...before.filter((value) => !after.includes(value)).map((value) => style('red', `    - ${value}`)),
    ...after.filter((value) => !before.includes(value)).map((value) => style('green', `    + ${value}`)),
    ...(from.ttl === to.ttl ? [] : [style('cyan', `    ttl ${ttlText(from.ttl)} → ${ttlText(to.ttl)}`)]),
    ...(hasSameLabels(from, to) ? [] : [style('cyan', `    labels ${labelsOf(from)} → ${labelsOf(to)}`)]),
  ];
}

const labelsOf = ({ labels }: SetContent): string => labelTexts(labels).join(', ') || 'none';

const valuesOf = (content: SetContent | null): string[] =>
  (content?.records ?? []).map(({ value, comment }) => (comment === null ? value : `${value}  ; ${comment}`));

function summaryOf({ waves, refused, same, recordsAfter }: ChangePlan): string {
  const changes = waves.flat();
  const count = (is: (change: SetChange) => boolean) => changes.filter(is).length;
  const parts = [
    [count(({ from }) => from === null), 'to add'],
    [count(({ from, to }) => from !== null && to !== null), 'to change'],
    [count(({ to }) => to === null), 'to remove'],
    [refused.length, 'refused'],
    [same, 'unchanged'],
  ] as const;
  const said = parts.filter(([many]) => many > 0).map(([many, what]) => `${many} ${what}`);
  return `${said.join(', ') || 'No record sets'}. ${plural(recordsAfter, 'record')} afterwards.`;
}

/** The plan as data. */
export const planBody = (
  { waves, refused, same, recordsAfter, quotaProblem, warnings }: ChangePlan,
  notes: readonly string[] = [],
) => ({
  changes: waves.flat().map(({ name, type, from, to }) => ({ name, type, from, to })),
  refused: refused.map(({ name, type, source, refusal }) => ({ name, type, source: source ?? null, refusal })),
  unchanged: same,
  recordsAfter,
  quotaProblem,
  warnings,
  notes,
});
