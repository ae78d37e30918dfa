import type { Route } from '../faults/route-table.js';

/** Paths of servers and images, which every project has. */
export const computeRoutes: readonly Route[] = [
  { pattern: '/v1/images', methods: ['GET'] },
  { pattern: '/v1/images/:image', methods: ['GET'] },
  { pattern: '/v1/servers', methods: ['GET'] },
  { pattern: '/v1/servers/:server', methods: ['GET', 'PUT', 'DELETE'] },
  { pattern: '/v1/servers/:server/actions', methods: ['GET'] },
  ...['rebuild', 'poweroff', 'poweron', 'change_protection'].map((action) => ({
    pattern: `/v1/servers/:server/actions/${action}`,
    methods: ['POST'],
  })),
  { pattern: '/v1/servers/:server/actions/:action', methods: ['GET'] },
];
