import type { RequestHandler } from 'express';

/**
 * Refuses a request with more than one `Host` (RFC 9112 section 3.2): a proxy in front may have gone by another one than
 * Node.js does, which takes the first.
 */
export function oneHost(refuse: () => Error): RequestHandler {
  return ({ rawHeaders }, res, next) => {
    let hosts = 0;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] as string;
      if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    }
    if (hosts < 2) return next();
    res.setHeader('Connection', 'close');
    next(refuse());
  };
}
