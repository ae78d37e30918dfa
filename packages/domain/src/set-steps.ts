import { hasSameLabels, hasSameRecords, type SetContent } from './plan.js';

/** A request of the DNS API about one record set. */
export type SetStep =
  | { readonly kind: 'create'; readonly content: SetContent }
  | { readonly kind: 'setRecords'; readonly records: SetContent['records'] }
  | { readonly kind: 'changeTtl'; readonly ttl: number | null }
  | { readonly kind: 'changeLabels'; readonly labels: SetContent['labels'] }
  | { readonly kind: 'remove' };

/** What is missing until a set is as wanted, in order: the API has no request for everything at once. */
export function stepsBetween(now: SetContent | null, to: SetContent | null): SetStep[] {
  if (to === null) return now === null ? [] : [{ kind: 'remove' }];
  if (now === null) return [{ kind: 'create', content: to }];
  const { records, ttl, labels } = to;
  return [
    ...(hasSameRecords(now, to) ? [] : [{ kind: 'setRecords', records } as const]),
    ...(now.ttl === ttl ? [] : [{ kind: 'changeTtl', ttl } as const]),
    ...(hasSameLabels(now, to) ? [] : [{ kind: 'changeLabels', labels } as const]),
  ];
}

/** Records as the API takes them. */
export const recordsBody = (records: SetContent['records']) =>
  records.map(({ value, comment }) => (comment === null ? { value } : { value, comment }));

/** The body that creates a set. */
export const createBody = (
  { name, type }: { readonly name: string; readonly type: string },
  { records, ttl, labels }: SetContent,
) => ({
  name,
  type,
  records: recordsBody(records),
  ...(ttl === null ? {} : { ttl }),
  ...(Object.keys(labels).length === 0 ? {} : { labels }),
});
