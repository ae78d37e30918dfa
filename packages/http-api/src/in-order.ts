import type { NextFunction, RequestHandler } from 'express';

/**
 * Handlers that run one after the other, up to the first error, as one. Express takes longer to get from one to the next than
 * most of them run.
 */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return handlers.reduceRight<RequestHandler>(
    (rest, handler) => (req, res, next) => run(handler, [req, res, next], () => rest(req, res, next)),
    (_req, _res, next) => next(),
  );
}

function run(handler: RequestHandler, [req, res, next]: Parameters<RequestHandler>, rest: () => unknown): void {
  const onward: NextFunction = (error?: unknown) => {
    if (error === undefined || error === null) rest();
    else next(error);
  };
  // Nothing is no error for `next`.
  const fail = (thrown: unknown): void => next(thrown ?? new Error('A handler has thrown nothing'));
  try {
    const ended: unknown = handler(req, res, onward);
    if (ended instanceof Promise) ended.catch(fail);
  } catch (error) {
    fail(error);
  }
}
