interface Route {
  /** Path with `:parameter` segments, for example `/v1/zones/:zone`. */
  readonly pattern: string;
  readonly methods: readonly string[];
}

/** Actions on a set. They are also the last segments of their paths. */
export const rrsetActions = ['set_records', 'add_records', 'remove_records', 'change_ttl'] as const;

const rrset = '/v1/zones/:zone/rrsets/:name/:type';

/** Every served path of the Hetzner Cloud API. Other paths answer 404, other methods 405. */
const routes: readonly Route[] = [
  { pattern: '/v1/actions', methods: ['GET'] },
  { pattern: '/v1/actions/:action', methods: ['GET'] },
  { pattern: '/v1/images', methods: ['GET'] },
  { pattern: '/v1/placement_groups', methods: ['GET', 'POST'] },
  { pattern: '/v1/placement_groups/:group', methods: ['DELETE'] },
  { pattern: '/v1/pricing', methods: ['GET'] },
  { pattern: '/v1/servers', methods: ['GET'] },
  { pattern: '/v1/servers/:server', methods: ['GET', 'PUT', 'DELETE'] },
  { pattern: '/v1/servers/:server/actions', methods: ['GET'] },
  { pattern: '/v1/servers/:server/actions/rebuild', methods: ['POST'] },
  { pattern: '/v1/servers/:server/actions/poweroff', methods: ['POST'] },
  // Not served, but counted by its name.
  { pattern: '/v1/servers/:server/actions/change_protection', methods: [] },
  { pattern: '/v1/zones', methods: ['GET'] },
  { pattern: '/v1/zones/:zone', methods: ['GET'] },
  { pattern: '/v1/zones/:zone/rrsets', methods: ['GET', 'POST'] },
  { pattern: rrset, methods: ['GET', 'PUT', 'DELETE'] },
  ...rrsetActions.map((action) => ({ pattern: `${rrset}/actions/${action}`, methods: ['POST'] })),
];

const expressions = routes.map((route) => ({
  route,
  matches: new RegExp(`^${route.pattern.replace(/:\w+/g, '[^/]+')}$`),
}));

/** Finds the route of a path without Express: a request with a fault may never reach a handler. */
export const routeOf = (path: string): Route | null =>
  expressions.find(({ matches }) => matches.test(path))?.route ?? null;
