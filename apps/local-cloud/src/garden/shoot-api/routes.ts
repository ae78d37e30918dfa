import type { Route } from '../../faults/route-table.js';

const get = (pattern: string): Route => ({ pattern, methods: ['GET'] });

/** Counted apart from the garden's own routes, which have the same paths. */
export const shootRoutes: readonly Route[] = [
  ...['/version', '/api', '/apis', '/apis/policy', '/apis/policy/v1', '/api/v1'].map(get),
  get('/api/v1/nodes'),
  { pattern: '/api/v1/nodes/:name', methods: ['GET', 'PATCH', 'DELETE'] },
  get('/api/v1/secrets'),
  { pattern: '/api/v1/namespaces/:namespace/secrets', methods: ['GET', 'POST'] },
  { pattern: '/api/v1/namespaces/:namespace/secrets/:name', methods: ['GET', 'DELETE'] },
  get('/api/v1/pods'),
  get('/api/v1/namespaces/:namespace/pods'),
  get('/api/v1/namespaces/:namespace/pods/:name'),
  { pattern: '/api/v1/namespaces/:namespace/pods/:name/eviction', methods: ['POST'] },
];
