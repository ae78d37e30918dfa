import type { ServerResponse } from 'node:http';

/** The connection of a request closed before its answer: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';

  constructor() {
    super('The client has gone away');
  }
}

const signals = new WeakMap<ServerResponse, AbortSignal>();

/**
 * Aborted when the client goes away before its answer, or when the answer is out: nobody waits for it any more. Its reason
 * is a `ClientGone`.
 */
export function clientGone(res: ServerResponse): AbortSignal {
  const known = signals.get(res);
  if (known !== undefined) return known;
  const gone = new AbortController();
  const leave = () => gone.abort(new ClientGone());
  signals.set(res, gone.signal);
  if (res.closed) leave();
  else res.once('close', leave);
  return gone.signal;
}
