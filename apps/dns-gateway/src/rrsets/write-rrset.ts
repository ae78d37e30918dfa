import { createHash } from 'node:crypto';
import { NotAdmitted, narrowScope, waiting } from '@corral/admission';
import { setIsBusy, tooManyWait } from '../dns-error.js';
import type { Audience, Services, WriteAnswer } from '../services.js';
import { type CheckedWrite, findCopy, noteRefused, sendWrite } from './send-write.js';

/**
 * Writes to one set are sent sequentially in order of arrival. A repeated request joins its first copy.
 *
 * @throws DnsError for refusals of ours, and when the upstream gave no answer to pass on
 * @throws the reason of the scope's signal when the client has disconnected and nothing was sent
 */
export function writeRrset(services: Services, request: CheckedWrite): Promise<WriteAnswer> {
  const { underWay } = services;
  const set = `${request.key.zoneId}/${request.key.name}/${request.key.type}`;
  const requestHash = hashOf(request);
  const id = `${set} ${requestHash.toString('base64')}`;
  const first = underWay.get(id);
  // A write that all clients have left is about to leave the queue, so it cannot be shared.
  if (first !== undefined && !first.gone.aborted) {
    first.join(request.scope.signal);
    return waiting(request.scope, () => first.answer).catch((error: unknown) => {
      if (!(error instanceof NotAdmitted)) throw error;
      return noteRefused(services, request, tooManyWait());
    });
  }
  const audience = audienceOf(request.scope.signal);
  const scope = narrowScope(request.scope, { signal: audience.gone });
  const answer = queueUp(services, set, { ...request, scope }, requestHash);
  underWay.set(id, { ...audience, answer });
  const forget = () => void (underWay.get(id)?.answer === answer && underWay.delete(id));
  answer.then(forget, forget);
  return answer;
}

/** Queues behind earlier writes to its set, until it is known whether an earlier copy exists. */
async function queueUp(
  services: Services,
  set: string,
  request: CheckedWrite,
  requestHash: Buffer,
): Promise<WriteAnswer> {
  const { sets } = services;
  // Nothing to wait for, and no copy that could be found: most writes.
  const isAlone = !sets.isBusy(set);
  let copy: WriteAnswer | null = null;
  const found = new AbortController();
  const looking = (isAlone ? Promise.resolve(null) : findCopy(services, request, requestHash)).then((answer) => {
    copy = answer;
    if (answer !== null) found.abort();
  });
  looking.catch(() => undefined); // unused when the write leaves the queue first
  const signal = AbortSignal.any([request.scope.signal, found.signal]);
  const lookThenSend = async (): Promise<WriteAnswer> => {
    await looking;
    return copy ?? sendWrite(services, request, requestHash);
  };
  try {
    return await sets.run(set, narrowScope(request.scope, { signal }), lookThenSend);
  } catch (error) {
    if (copy !== null && error === found.signal.reason) return copy;
    if (!(error instanceof NotAdmitted)) throw error;
    return noteRefused(services, request, error.why === 'late' ? setIsBusy() : tooManyWait());
  }
}

/** Identifies exact repetitions of a request. */
function hashOf({ caller, upstream }: CheckedWrite): Buffer {
  const parts = [caller.tokenId, upstream.method, ...upstream.segments];
  const hash = createHash('sha256').update(`${parts.join('\0')}\0`);
  return hash.update(upstream.body ?? '').digest();
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
