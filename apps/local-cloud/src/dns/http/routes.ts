import type { Route } from '../../faults/route-table.js';
import type { CommandKind } from '../command.js';

/** The actions on a set, which are also the last segments of their paths. */
export const rrsetActions = [
  'set_records',
  'add_records',
  'remove_records',
  'update_records',
  'change_ttl',
  'change_protection',
] as const satisfies readonly CommandKind[];

const rrset = '/v1/zones/:zone/rrsets/:name/:type';

/** Every path of the Hetzner Cloud API that is served; what is not here is answered 404, another method 405. */
export const dnsRoutes: readonly Route[] = [
  { pattern: '/v1/actions', methods: ['GET'] },
  { pattern: '/v1/actions/:action', methods: ['GET'] },
  { pattern: '/v1/locations', methods: ['GET'] },
  { pattern: '/v1/locations/:location', methods: ['GET'] },
  { pattern: '/v1/placement_groups', methods: ['GET', 'POST'] },
  { pattern: '/v1/placement_groups/:group', methods: ['GET', 'DELETE'] },
  { pattern: '/v1/pricing', methods: ['GET'] },
  { pattern: '/v1/server_types', methods: ['GET'] },
  { pattern: '/v1/server_types/:type', methods: ['GET'] },
  { pattern: '/v1/zones', methods: ['GET'] },
  { pattern: '/v1/zones/actions', methods: ['GET'] },
  { pattern: '/v1/zones/actions/:action', methods: ['GET'] },
  { pattern: '/v1/zones/:zone', methods: ['GET'] },
  { pattern: '/v1/zones/:zone/actions/:action', methods: ['GET'] },
  { pattern: '/v1/zones/:zone/rrsets', methods: ['GET', 'POST'] },
  { pattern: rrset, methods: ['GET', 'PUT', 'DELETE'] },
  ...rrsetActions.map((action) => ({ pattern: `${rrset}/actions/${action}`, methods: ['POST'] })),
];
