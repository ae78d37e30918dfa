import { narrowScope, openScope, type RequestScope, type ScopeOptions } from '@corral/admission';
import type { Response } from 'express';
import { clientGone } from './errors.js';

/** The scope of the request that is answered, for everything that works for it and knows no Express. */
export function scopeOf(res: Response): RequestScope {
  res.locals.scope ??= openScope({ signal: clientGone(res) });
  return res.locals.scope as RequestScope;
}

/** Narrows the scope of a request, e.g. when its caller, and so its deadline and the bound of its waits, are known. */
export function narrowScopeOf(res: Response, more: Partial<ScopeOptions>): RequestScope {
  const scope = narrowScope(scopeOf(res), more);
  res.locals.scope = scope;
  return scope;
}
