import type { NextFunction, RequestHandler } from 'express';

/**
 * Handlers that run one after the other, up to the first error, as one. Express takes longer to get from one to the next than
 * most of them run.
 */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return (req, res, next) => {
    let at = 0;
    // Nothing is no error for `next`.
    const fail = (thrown: unknown): void => next(thrown ?? new Error('A handler has thrown nothing'));
    const onward: NextFunction = (error?: unknown) => {
      if (error !== undefined && error !== null) return next(error);
      const handler = handlers[at];
      if (handler === undefined) return next();
      at += 1;
      try {
        const ended: unknown = handler(req, res, onward);
        if (ended instanceof Promise) ended.catch(fail);
      } catch (thrown) {
        fail(thrown);
      }
    };
    onward();
  };
}
