import type { CopyStore, DeliveryCheck, FirstCopy } from '@corral/dns-mirror';
import type { CheckedWrite, WriteAnswer } from './checked-write.js';
import type { WriteWaits } from './write-waits.js';

export interface FirstCopiesDeps {
  readonly copies: CopyStore;
  /** Whether this process saw the entry's answer delivered. */
  readonly isDelivered: (entryId: number) => boolean;
}

export type FirstCopies = ReturnType<typeof firstCopies>;

/** What a write finds in the ledger that was sent before, as it is: by whichever gateway, and answered or not. */
export function firstCopies({ copies, isDelivered }: FirstCopiesDeps, { waitForSet }: Pick<WriteWaits, 'waitForSet'>) {
  /** Whether the client of an entry has its answer. */
  const wasDelivered: DeliveryCheck = (entryId, recorded) => recorded || isDelivered(entryId);

  /** @returns the outcome of a first copy under way, null when that surely did not happen */
  const follow = async (request: CheckedWrite, requestHash: Buffer, { entryId, isDue }: Pending) => {
    for (let copy: FirstCopy | null = { kind: 'pending', entryId, isDue }; ; ) {
      if (copy === null || copy.kind === 'replayed') return copy;
      await waitForSet(request, copy.isDue);
      copy = await copies.followCopy({ ...request, requestHash }, entryId);
    }
  };

  /** The answer of a first copy that is in the ledger when this one arrives, be it under way or undelivered. */
  const findCopy = async (request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer | null> => {
    const copy = await copies.findCopy({ ...request, requestHash }, wasDelivered);
    return copy?.kind === 'pending' ? follow(request, requestHash, copy) : copy;
  };

  return { wasDelivered, follow, findCopy };
}

type Pending = Pick<Extract<FirstCopy, { kind: 'pending' }>, 'entryId' | 'isDue'>;
