import { createHash } from 'node:crypto';
import { assertNever } from '@corral/dns-data';
import { ClientGone, setIsBusy, tooManyWait } from '../dns-error.js';
import { type Audience, audienceOf } from './access.js';
import { type AnswerWriteDeps, answerWrite, type FirstCopiesDeps, firstCopies } from './answer-write.js';
import { type CheckedWrite, refusalOf, type WriteAnswer } from './checked-write.js';
import type { Settling } from './settling.js';
import { type WriteWaitsDeps, writeWaits } from './write-waits.js';

/** Identifies exact repetitions of a request. */
function hashOf({ caller, upstream }: CheckedWrite): Buffer {
  const parts = [caller.tokenId, upstream.method, ...upstream.segments];
  const hash = createHash('sha256').update(`${parts.join('\0')}\0`);
  return hash.update(upstream.body ?? '').digest();
}

export interface RrsetWriterDeps extends WriteWaitsDeps, FirstCopiesDeps, AnswerWriteDeps {
  readonly settling: Settling;
}

export interface RrsetWriter {
  /**
   * @throws DnsError for refusals of ours, and when the upstream gave no answer to pass on
   * @throws ClientGone when the client has disconnected and nothing was sent
   */
  write(request: CheckedWrite): Promise<WriteAnswer>;
}

/** Sends writes to one set sequentially in order of arrival. A repeated request joins its first copy. */
export function rrsetWriter(deps: RrsetWriterDeps): RrsetWriter {
  const { queue } = deps;
  const waits = writeWaits(deps);
  const copies = firstCopies(deps, waits);
  const perform = answerWrite(deps, waits, copies);
  // Waiting and running writes of this process, by the identity of their exact repetitions.
  const underWay = new Map<string, { audience: Audience; answer: Promise<WriteAnswer> }>();

  /** Queues behind earlier writes to its set, until it is known whether an earlier copy exists. */
  const queueUp = async (set: string, request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    // Nothing to wait for, and no copy that could be found: most writes.
    const isAlone = !queue.isBusy(set);
    const found = new AbortController();
    const wait = {
      waitMs: Math.max(0, request.deadline - deps.now()),
      gone: AbortSignal.any([request.gone, found.signal]),
      enterQueue: waits.placesOf(request).enter,
    };
    let copy: WriteAnswer | null = null;
    const looking = isAlone
      ? Promise.resolve()
      : copies.findCopy(request, requestHash).then((answer) => {
          copy = answer;
          if (answer !== null) found.abort();
        });
    looking.catch(() => undefined); // unused when the write leaves the queue first
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
      // A write that all clients have left is about to leave the queue, so it cannot be shared.
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
