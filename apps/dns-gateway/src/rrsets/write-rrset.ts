import { createHash } from 'node:crypto';
import { type FairQueue, NotAdmitted, narrowScope, waiting } from '@corral/admission';
import { setIsBusy, tooManyWait } from '../dns-error.js';
import { type CheckedWrite, refusalOf, type SendWriteDeps, sendWrite, type WriteAnswer } from './send-write.js';

export interface RrsetWriterDeps extends SendWriteDeps {
  /** Takes one write of each set at a time. */
  readonly sets: Pick<FairQueue, 'run' | 'isBusy'>;
}

/**
 * Writes to one set are sent sequentially in order of arrival. A repeated request joins its first copy.
 *
 * @throws DnsError for refusals of ours, and when the upstream gave no answer to pass on
 * @throws the reason of the scope's signal when the client has disconnected and nothing was sent
 */
export type RrsetWriter = (request: CheckedWrite) => Promise<WriteAnswer>;

export function rrsetWriter(deps: RrsetWriterDeps): RrsetWriter {
  const { sets, noteRefused } = deps;
  const { perform, findCopy } = sendWrite(deps);
  // Waiting and running writes of this process, by the identity of their exact repetitions.
  const underWay = new Map<string, { audience: Audience; answer: Promise<WriteAnswer> }>();

  /** Queues behind earlier writes to its set, until it is known whether an earlier copy exists. */
  const queueUp = async (set: string, request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    // Nothing to wait for, and no copy that could be found: most writes.
    const isAlone = !sets.isBusy(set);
    let copy: WriteAnswer | null = null;
    const found = new AbortController();
    const looking = (isAlone ? Promise.resolve(null) : findCopy(request, requestHash)).then((answer) => {
      copy = answer;
      if (answer !== null) found.abort();
    });
    looking.catch(() => undefined); // unused when the write leaves the queue first
    const signal = AbortSignal.any([request.scope.signal, found.signal]);
    const inTurn = async (): Promise<WriteAnswer> => {
      await looking;
      return copy ?? perform(request, requestHash);
    };
    try {
      return await sets.run(set, narrowScope(request.scope, { signal }), inTurn);
    } catch (error) {
      if (copy !== null && error === found.signal.reason) return copy;
      if (!(error instanceof NotAdmitted)) throw error;
      return noteRefused(refusalOf(request), error.why === 'late' ? setIsBusy() : tooManyWait());
    }
  };

  return (request) => {
    const set = `${request.key.zoneId}/${request.key.name}/${request.key.type}`;
    const requestHash = hashOf(request);
    const id = `${set} ${requestHash.toString('base64')}`;
    const first = underWay.get(id);
    // A write that all clients have left is about to leave the queue, so it cannot be shared.
    if (first !== undefined && !first.audience.gone.aborted) {
      first.audience.join(request.scope.signal);
      return waiting(request.scope, () => first.answer).catch((error: unknown) => {
        if (!(error instanceof NotAdmitted)) throw error;
        return noteRefused(refusalOf(request), tooManyWait());
      });
    }
    const audience = audienceOf(request.scope.signal);
    const scope = narrowScope(request.scope, { signal: audience.gone });
    const answer = queueUp(set, { ...request, scope }, requestHash);
    underWay.set(id, { audience, answer });
    const forget = () => void (underWay.get(id)?.answer === answer && underWay.delete(id));
    answer.then(forget, forget);
    return answer;
  };
}

/** Identifies exact repetitions of a request. */
function hashOf({ caller, upstream }: CheckedWrite): Buffer {
  const parts = [caller.tokenId, upstream.method, ...upstream.segments];
  const hash = createHash('sha256').update(`${parts.join('\0')}\0`);
  return hash.update(upstream.body ?? '').digest();
}

/** The clients that wait for the answer of one write, i.e. one request sent several times. */
interface Audience {
  /** Aborted when all clients have disconnected. */
  readonly gone: AbortSignal;
  join(gone: AbortSignal): void;
}

/** @param first aborted when the first client disconnects */
function audienceOf(first: AbortSignal): Audience {
  const all = new AbortController();
  let here = 0;
  const join = (gone: AbortSignal): void => {
    here += 1;
    const leave = () => {
      here -= 1;
      if (here === 0) all.abort(gone.reason);
    };
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
  };
  join(first);
  return { gone: all.signal, join };
}
