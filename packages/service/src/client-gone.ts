import type { ServerResponse } from 'node:http';

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborted when the client goes away before its answer, or when the answer is out: nobody waits for it any more. */
export function clientGone(res: ServerResponse): AbortSignal {
  const known = signals.get(res);
  if (known !== undefined) return known;
  const gone = new AbortController();
  signals.set(res, gone.signal);
  if (res.closed) gone.abort();
  else res.once('close', () => gone.abort());
  return gone.signal;
}
