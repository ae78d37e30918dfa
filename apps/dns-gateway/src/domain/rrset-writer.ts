import { assertNever } from '@corral/dns-mirror';
import { ClientGone, setIsBusy, tooManyWait } from '../dns-error.js';
import { type Audience, audienceOf } from './audience.js';
import { type CheckedWrite, hashOf, refusalOf, type WriteAnswer } from './checked-write.js';
import { type FirstCopiesDeps, firstCopies } from './first-copies.js';
import { type PerformWriteDeps, performWrite } from './perform-write.js';
import type { Settling } from './settling.js';
import { type WriteWaitsDeps, writeWaits } from './write-waits.js';

export interface RrsetWriterDeps extends WriteWaitsDeps, FirstCopiesDeps, PerformWriteDeps {
  readonly settling: Settling;
}

export interface RrsetWriter {
  /**
   * @throws DnsError for what is ours to refuse, and where the upstream gave no answer that could be passed on
   * @throws ClientGone when nobody waits for it any more and nothing was sent
   */
  write(request: CheckedWrite): Promise<WriteAnswer>;
}

/** Writes to one set go out one after the other, in the order in which they came; a repeated request joins its first copy. */
export function rrsetWriter(deps: RrsetWriterDeps): RrsetWriter {
  const { queue } = deps;
  const waits = writeWaits(deps);
  const copies = firstCopies(deps, waits);
  const perform = performWrite(deps, waits, copies);
  // The writes that wait or are under way here, by what an exact repetition of them would be.
  const underWay = new Map<string, { audience: Audience; answer: Promise<WriteAnswer> }>();

  /** Keeps its place behind earlier writes to its set, until it is known that it is none of its own. */
  const queueUp = async (set: string, request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    const found = new AbortController();
    const gone = AbortSignal.any([request.gone, found.signal]);
    const wait = {
      waitMs: Math.max(0, request.deadline - deps.now()),
      gone,
      enterQueue: waits.placesOf(request).enter,
    };
    let copy: WriteAnswer | null = null;
    const looking = queue.isBusy(set)
      ? copies.findCopy(request, requestHash).then((answer) => {
          copy = answer;
          if (answer !== null) found.abort();
        })
      : Promise.resolve();
    looking.catch(() => undefined); // whoever leaves before the turn has another reason
    const turn = await queue.run(set, wait, async () => {
      await looking;
      return copy ?? perform(request, requestHash);
    });
    switch (turn.kind) {
      case 'done':
        return turn.value;
      case 'late':
        return deps.noteRefused(refusalOf(request), setIsBusy());
      case 'full':
        return deps.noteRefused(refusalOf(request), tooManyWait());
      case 'gone':
        if (copy !== null) return copy;
        throw new ClientGone();
      default:
        return assertNever(turn);
    }
  };

  return {
    write(request) {
      const set = `${request.key.zoneId}/${request.key.name}/${request.key.type}`;
      const requestHash = hashOf(request);
      const id = `${set} ${requestHash.toString('base64')}`;
      const first = underWay.get(id);
      // What everybody has left is about to leave the queue, too.
      if (first !== undefined && !first.audience.gone.aborted) {
        first.audience.join(request.gone);
        return first.answer.finally(request.setAside());
      }
      const audience = audienceOf(request.gone);
      const answer = queueUp(set, { ...request, gone: audience.gone }, requestHash);
      underWay.set(id, { audience, answer });
      const forget = () => void (underWay.get(id)?.answer === answer && underWay.delete(id));
      answer.then(forget, forget);
      return answer;
    },
  };
}
