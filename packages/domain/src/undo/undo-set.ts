import type { SetContent } from '../plan.js';
import { createBody, recordsBody, type SetStep, stepsBetween } from '../set-steps.js';
import { stepBack, type Thing } from './step-back.js';

/** What an entry of the audit log did to a record set; null when the set did not exist. */
export interface LoggedSetStep {
  readonly before: SetContent | null;
  readonly after: SetContent | null;
}

export interface UndoneSet {
  readonly to: SetContent | null;
  /** Parts that were changed again since: `records`, `ttl`, `labels`, or all of them for the set as a whole. */
  readonly overwrites: readonly string[];
}

const allParts = ['records', 'ttl', 'labels'];

/** What a record set becomes when changes of it are taken back. */
export function undoSet(now: SetContent | null, newestFirst: readonly LoggedSetStep[]): UndoneSet {
  const steps = newestFirst.map(({ before, after }) => ({ before: inOrder(before), after: inOrder(after) }));
  const { to, overwrites } = stepBack(inOrder(now), steps);
  return { to: to as SetContent | null, overwrites: overwrites.includes('') ? allParts : overwrites };
}

/** Sorts the records: their order has no meaning. */
const inOrder = (content: SetContent | null): Thing =>
  content && {
    ...content,
    records: content.records.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
  };

/** A request of the DNS API, below its base URL. */
export interface SetCall {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body: object | null;
}

/** The requests that turn a record set from `now` into `to`. */
export function callsOf(
  { zone, name, type }: { readonly zone: string; readonly name: string; readonly type: string },
  now: SetContent | null,
  to: SetContent | null,
): SetCall[] {
  const sets = `/zones/${encodeURIComponent(zone)}/rrsets`;
  const path = `${sets}/${encodeURIComponent(name)}/${encodeURIComponent(type)}`;
  const callOf = (step: SetStep): SetCall => {
    switch (step.kind) {
      case 'create':
        return { method: 'POST', path: sets, body: createBody({ name, type }, step.content) };
      case 'setRecords':
        return { method: 'POST', path: `${path}/actions/set_records`, body: { records: recordsBody(step.records) } };
      case 'changeTtl':
        return { method: 'POST', path: `${path}/actions/change_ttl`, body: { ttl: step.ttl } };
      case 'changeLabels':
        return { method: 'PUT', path, body: { labels: step.labels } };
      case 'remove':
        return { method: 'DELETE', path, body: null };
    }
  };
  return stepsBetween(now, to).map(callOf);
}
