import type { Rrset } from '@corral/contracts';
import { contentOf, isSame, keyOf } from '@corral/domain';
import { useCallback, useEffect, useRef, useState } from 'react';
import { withOrWithout } from './shown-sets.js';
import type { RecordChanges } from './use-record-changes.js';

/**
 * Sets that somebody else has changed since the page was opened.
 *
 * @param rrsets unchanged sets are the same objects
 * @returns their ids, and how to take one out
 */
export function useFreshSets(
  rrsets: readonly Rrset[] | undefined,
  { plan, save }: RecordChanges['runs'],
): [ReadonlySet<string>, (id: string) => void] {
  const before = useRef(rrsets);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const known = before.current;
    before.current = rrsets;
    if (known === undefined || rrsets === undefined || known === rrsets) return;
    const changed = rrsets
      .filter((rrset) => !known.includes(rrset) && !isOwn(rrset, plan) && !isOwn(rrset, save))
      .map(({ id }) => id);
    if (changed.length > 0) setFresh((ids) => withOrWithout(ids, changed, true));
  }, [rrsets, plan, save]);
  const onSeen = useCallback((id: string) => setFresh((ids) => withOrWithout(ids, [id], false)), []);
  return [fresh, onSeen];
}

function isOwn(rrset: Rrset, run: RecordChanges['runs']['plan']): boolean {
  const change = run?.waves.flat().find(({ key }) => key === keyOf(rrset));
  return change !== undefined && (run?.isRunning === true || isSame(contentOf(rrset), change.to));
}
