import type { ChangePlan, Outcomes, SetChange, SetState } from '@corral/domain';
import { plural } from '../ui/plural.js';

const kindOf = ({ from, to }: SetChange): 'add' | 'remove' | 'change' =>
  from === null ? 'add' : to === null ? 'remove' : 'change';
const done = { add: 'added', change: 'changed', remove: 'removed' } as const;

/** What a plan does, in sentences: "Adds 1 record set and removes 3. Then 49 of 200 records are used." */
export function planText({ waves, refused, same, recordsAfter }: ChangePlan, limit: number): string {
  const kinds = waves.flat().map(kindOf);
  const parts = (['add', 'change', 'remove'] as const)
    .map((kind) => ({ kind, count: kinds.filter((each) => each === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, count }, at) => `${kind}s ${at === 0 ? plural(count, 'record set') : count}`)
    .join(', ')
    .replace(/, ([^,]*)$/, ' and $1');
  return [
    parts === '' ? 'Nothing changes.' : `${parts.charAt(0).toUpperCase()}${parts.slice(1)}.`,
    ...(refused.length > 0 ? [`${refused.length} cannot be written.`] : []),
    ...(same > 0 ? [`${same} ${same === 1 ? 'is' : 'are'} as wanted already.`] : []),
    `Then ${recordsAfter} of ${limit} records are used.`,
  ].join(' ');
}

export interface RunCounts {
  readonly all: number;
  readonly done: number;
  readonly refused: number;
  readonly skipped: number;
  /** What has not ended yet. */
  readonly left: number;
}

export function countsOf(changes: readonly SetChange[], outcomes: Outcomes): RunCounts {
  const of = (state: SetState) => changes.filter(({ key }) => outcomes[key]?.state === state).length;
  const [all, counted] = [changes.length, { done: of('done'), refused: of('refused'), skipped: of('skipped') }];
  return { all, ...counted, left: all - counted.done - counted.refused - counted.skipped };
}

/** How far a run is: "3 record sets removed", "www.acme A was not saved", "37 of 52 changes applied, 2 refused". */
export function runText(changes: readonly SetChange[], outcomes: Outcomes): string {
  const { all, done: applied, refused, skipped, left } = countsOf(changes, outcomes);
  const [only, ...others] = changes;
  const kinds = new Set(changes.map(kindOf));
  if (applied === all && only !== undefined) {
    if (others.length === 0) return `${only.key} ${done[kindOf(only)]}`;
    return kinds.size === 1 ? `${plural(all, 'record set')} ${done[kindOf(only)]}` : `${plural(all, 'change')} applied`;
  }
  if (only !== undefined && others.length === 0 && left === 0) return `${only.key} was not saved`;
  return [
    `${applied} of ${plural(all, 'change')} applied`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(', ');
}

const words: Readonly<Record<SetState, string>> = {
  waiting: 'waiting',
  writing: 'writing',
  written: 'confirming',
  done: 'applied',
  refused: 'refused',
  unknown: 'not known',
  skipped: 'skipped',
};

/** A state as the page shows it. What was under way when a run was interrupted may have been written or not. */
export function shownState(
  outcome: Outcomes[string] | undefined,
  isRunning: boolean,
): { readonly state: SetState; readonly word: string; readonly detail: string | undefined } {
  const { state = 'waiting', detail } = outcome ?? {};
  if (isRunning || !['writing', 'written', 'unknown'].includes(state)) return { state, word: words[state], detail };
  return { state: 'unknown', word: words.unknown, detail: 'It may have been written. Resume reads the set again.' };
}
