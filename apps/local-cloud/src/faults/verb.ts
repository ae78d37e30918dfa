import type { Request } from 'express';

/** The method of a request, but WATCH for a Kubernetes watch and APPLY for a server-side apply. */
export function verbOf(req: Request): string {
  if (req.method === 'GET' && /[?&]watch=(1|true)(&|$)/.test(req.originalUrl)) return 'WATCH';
  const isApply = req.method === 'PATCH' && (req.get('Content-Type') ?? '').startsWith('application/apply-patch');
  return isApply ? 'APPLY' : req.method;
}
