import type { Kind } from '../kinds/kind.js';
import { parseFieldSelector, parseLabelSelector } from '../kube/selectors.js';
import type { Held } from '../store/held.js';
import type { RequestInfo } from './request-info.js';

export interface Selection {
  matches(held: Held): boolean;
  /** Whether it leaves out objects by more than their namespace. */
  readonly narrows: boolean;
}

const selectableOf = (kind: Kind): ReadonlySet<string> =>
  new Set(['metadata.name', 'metadata.namespace', ...kind.selectable.map(({ field }) => field)]);

/** What of a collection a list or watch is about. @throws StatusError 400 */
export function selectionOf({ kind, namespace, query }: RequestInfo): Selection {
  const labelSelector = query.get('labelSelector') ?? '';
  const fieldSelector = query.get('fieldSelector') ?? '';
  const labelTest = parseLabelSelector(labelSelector);
  const fieldTest = parseFieldSelector(fieldSelector, selectableOf(kind));
  return {
    narrows: labelSelector !== '' || fieldSelector !== '',
    matches: (held) =>
      (namespace === '' || held.namespace === namespace) && labelTest(held.labels) && fieldTest(held.fields),
  };
}
