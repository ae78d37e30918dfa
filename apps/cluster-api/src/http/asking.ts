import type { Response } from 'express';
import type { Asking } from '../domain/caller.js';

/** The connection of a request closed before its answer: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** The request as those see it who do what it asks for. */
export function askingOf(res: Response): Asking {
  const known: Asking | undefined = res.locals.asking;
  if (known !== undefined) return known;
  const controller = new AbortController();
  const leave = () => controller.abort(new ClientGone('The client has gone away'));
  if (res.closed) leave();
  else res.once('close', leave);
  const asking: Asking = { requestId: res.locals.requestId, gone: controller.signal };
  res.locals.asking = asking;
  return asking;
}
