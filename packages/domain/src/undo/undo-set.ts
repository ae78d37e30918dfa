import { hasSameLabels, hasSameRecords, type SetContent } from '../plan.js';
import { stepBack, type Thing } from './step-back.js';

/** What an entry of the audit log did to a record set; null when the set did not exist. */
export interface SetStep {
  readonly before: SetContent | null;
  readonly after: SetContent | null;
}

export interface UndoneSet {
  readonly to: SetContent | null;
  /** Parts that were changed again since: `records`, `ttl`, `labels`, or all of them for the set as a whole. */
  readonly overwrites: readonly string[];
}

const parts = ['records', 'ttl', 'labels'];

/** What a record set becomes when changes of it are taken back. */
export function undoSet(now: SetContent | null, newestFirst: readonly SetStep[]): UndoneSet {
  const steps = newestFirst.map(({ before, after }) => ({ before: inOrder(before), after: inOrder(after) }));
  const { to, overwrites } = stepBack(inOrder(now), steps);
  return { to: to as SetContent | null, overwrites: overwrites.includes('') ? parts : overwrites };
}

/** The order of records says nothing. */
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

/** The requests that make a record set so. */
export function callsOf(
  { zone, name, type }: { readonly zone: string; readonly name: string; readonly type: string },
  now: SetContent | null,
  to: SetContent | null,
): SetCall[] {
  const sets = `/zones/${encodeURIComponent(zone)}/rrsets`;
  const path = `${sets}/${encodeURIComponent(name)}/${encodeURIComponent(type)}`;
  if (to === null) return now === null ? [] : [{ method: 'DELETE', path, body: null }];
  const records = to.records.map(({ value, comment }) => (comment === null ? { value } : { value, comment }));
  const { ttl, labels } = to;
  if (now === null) {
    const given = { ...(ttl !== null && { ttl }), ...(Object.keys(labels).length > 0 && { labels }) };
    return [{ method: 'POST', path: sets, body: { name, type, records, ...given } }];
  }
  const actions = `${path}/actions`;
  return [
    ...(hasSameRecords(now, to)
      ? []
      : [{ method: 'POST', path: `${actions}/set_records`, body: { records } } as const]),
    ...(now.ttl === ttl ? [] : [{ method: 'POST', path: `${actions}/change_ttl`, body: { ttl } } as const]),
    ...(hasSameLabels(now, to) ? [] : [{ method: 'PUT', path, body: { labels } } as const]),
  ];
}
