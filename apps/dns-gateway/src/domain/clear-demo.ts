import type { DnsCaller } from '@corral/auth';
import { type DeleteLeftDeps, type DemoEnds, type DemoRecord, deleteLeft } from '@corral/demos';

export interface ClearDemoDeps extends DeleteLeftDeps {
  readonly ends: Pick<DemoEnds, 'listLeftOf'>;
  readonly onError: (error: Error) => void;
}

/**
 * Deletes the records of a demo that was ended just now. It never rejects: the end is committed, and whatever could not
 * be deleted, for want of budget, of an upstream or of this process, the reconciler deletes.
 */
export const clearDemo =
  (deps: ClearDemoDeps) =>
  async (ended: DemoRecord, caller: DnsCaller, requestId: string): Promise<void> => {
    const by = { tokenId: caller.tokenId, requestId, account: caller.accountId };
    try {
      const left = await deps.ends.listLeftOf(ended.id);
      await Promise.all(left.map((rrset) => deleteLeft(deps, rrset, by)));
    } catch (error) {
      deps.onError(error as Error);
    }
  };
