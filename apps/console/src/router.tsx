import { isCorralError } from '@corral/client';
import { type QueryClient, useSuspenseQuery } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { meQuery } from './api/queries.js';
import { BrokenPage, NoSuchPage } from './shell/no-page.js';
import { NotYourTeam } from './shell/not-your-team.js';
import { Shell } from './shell/shell.js';

const LAST_TEAM = 'corral.team';

interface Context {
  readonly queries: QueryClient;
}

/** Search parameters as text: filters are part of the address, so that a colleague sees the same list. */
const textSearch =
  <const N extends string>(...names: readonly N[]) =>
  (search: Record<string, unknown>): { [K in N]?: string } =>
    Object.fromEntries(names.flatMap((name) => (search[name] === undefined ? [] : [[name, String(search[name])]]))) as {
      [K in N]?: string;
    };

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: ({ to }: Record<string, unknown>): { to?: string } => (typeof to === 'string' ? { to } : {}),
  component: lazyRouteComponent(() => import('./sign-in/sign-in-page.js'), 'SignInPage'),
});

/** Pages for signed-in people. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queries.ensureQueryData(meQuery());
    } catch (error) {
      if (isCorralError(error) && error.status === 401)
        throw redirect({ to: '/sign-in', search: { to: location.href } });
      throw error;
    }
  },
});

const start = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  beforeLoad: async ({ context }) => {
    const { teams } = await context.queries.ensureQueryData(meQuery());
    const last = localStorage.getItem(LAST_TEAM);
    const team = teams.find(({ slug }) => slug === last) ?? teams[0];
    if (team !== undefined) throw redirect({ to: '/teams/$team', params: { team: team.slug } });
  },
  component: lazyRouteComponent(() => import('./people/no-team-page.js'), 'NoTeamPage'),
});

const me = createRoute({
  getParentRoute: () => signedIn,
  path: '/me',
  component: lazyRouteComponent(() => import('./people/me-page.js'), 'MePage'),
});

const invitation = createRoute({
  getParentRoute: () => signedIn,
  path: '/invitations/$id',
  component: lazyRouteComponent(() => import('./people/invitation-page.js'), 'InvitationPage'),
});

const team = createRoute({
  getParentRoute: () => signedIn,
  path: '/teams/$team',
  beforeLoad: async ({ context, params }) => {
    const { teams } = await context.queries.ensureQueryData(meQuery());
    if (teams.some(({ slug }) => slug === params.team)) localStorage.setItem(LAST_TEAM, params.team);
  },
  component: () => {
    const params = team.useParams();
    const { data: me } = useSuspenseQuery(meQuery());
    const isMember = me.teams.some(({ slug }) => slug === params.team);
    return isMember ? <Shell team={params.team} key={params.team} /> : <NotYourTeam team={params.team} me={me} />;
  },
});

const home = createRoute({
  getParentRoute: () => team,
  path: '/',
  component: lazyRouteComponent(() => import('./home/home-page.js'), 'HomePage'),
});

const records = createRoute({
  getParentRoute: () => team,
  path: '/dns/records',
  validateSearch: textSearch('filter', 'type', 'label', 'sort'),
  component: lazyRouteComponent(() => import('./records/records-page.js'), 'RecordsPage'),
});

/** A drawer of the list. */
const rrset = createRoute({ getParentRoute: () => records, path: '$name/$type' });

const zoneFile = createRoute({
  getParentRoute: () => team,
  path: '/dns/zone-file',
  component: lazyRouteComponent(() => import('./zone-file/zone-file-page.js'), 'ZoneFilePage'),
});

const tokens = createRoute({
  getParentRoute: () => team,
  path: '/dns/tokens',
  validateSearch: textSearch('state', 'filter'),
  component: lazyRouteComponent(() => import('./dns-tokens/tokens-page.js'), 'TokensPage'),
});

const createToken = createRoute({
  getParentRoute: () => team,
  path: '/dns/tokens/+',
  component: lazyRouteComponent(() => import('./dns-tokens/create-token-page.js'), 'CreateTokenPage'),
});

const token = createRoute({
  getParentRoute: () => team,
  path: '/dns/tokens/$id',
  component: lazyRouteComponent(() => import('./dns-tokens/token-page.js'), 'TokenPage'),
});

const demos = createRoute({
  getParentRoute: () => team,
  path: '/dns/demos',
  component: lazyRouteComponent(() => import('./demos/demos-page.js'), 'DemosPage'),
});

const clusters = createRoute({
  getParentRoute: () => team,
  path: '/clusters',
  validateSearch: textSearch('filter'),
  component: lazyRouteComponent(() => import('./clusters/clusters-page.js'), 'ClustersPage'),
});

const createCluster = createRoute({
  getParentRoute: () => team,
  path: '/clusters/+',
  validateSearch: textSearch('like'),
  component: lazyRouteComponent(() => import('./cluster-form/create-cluster-page.js'), 'CreateClusterPage'),
});

const changeCluster = createRoute({
  getParentRoute: () => team,
  path: '/clusters/$name/change',
  component: lazyRouteComponent(() => import('./cluster-form/change-cluster-page.js'), 'ChangeClusterPage'),
});

const cluster = createRoute({
  getParentRoute: () => team,
  path: '/clusters/$name',
  component: lazyRouteComponent(() => import('./clusters/cluster-page.js'), 'ClusterPage'),
});

const clusterTab = createRoute({
  getParentRoute: () => team,
  path: '/clusters/$name/$tab',
  beforeLoad: ({ params: { team: slug, name } }) => {
    throw redirect({ to: '/teams/$team/clusters/$name', params: { team: slug, name }, replace: true });
  },
});

const operation = createRoute({
  getParentRoute: () => team,
  path: '/operations/$id',
  component: lazyRouteComponent(() => import('./operations/operation-page.js'), 'OperationPage'),
});

const connections = createRoute({
  getParentRoute: () => team,
  path: '/connections',
  component: lazyRouteComponent(() => import('./connections/connections-page.js'), 'ConnectionsPage'),
});

const createConnection = createRoute({
  getParentRoute: () => team,
  path: '/connections/+',
  component: lazyRouteComponent(() => import('./connections/create-connection-page.js'), 'CreateConnectionPage'),
});

const connection = createRoute({
  getParentRoute: () => team,
  path: '/connections/$ref',
  component: lazyRouteComponent(() => import('./connections/connection-page.js'), 'ConnectionPage'),
});

const adoptServer = createRoute({
  getParentRoute: () => team,
  path: '/connections/$ref/servers/+',
  validateSearch: textSearch('number'),
  component: lazyRouteComponent(() => import('./connections/adopt-server-page.js'), 'AdoptServerPage'),
});

const people = createRoute({
  getParentRoute: () => team,
  path: '/people',
  component: lazyRouteComponent(() => import('./people/people-page.js'), 'PeoplePage'),
});

const settings = createRoute({
  getParentRoute: () => team,
  path: '/settings',
  component: lazyRouteComponent(() => import('./people/settings-page.js'), 'SettingsPage'),
});

const audit = createRoute({
  getParentRoute: () => team,
  path: '/audit',
  validateSearch: textSearch('kind', 'action', 'outcome', 'name', 'type', 'actor', 'from', 'to'),
  component: lazyRouteComponent(() => import('./audit/audit-page.js'), 'AuditPage'),
});

const usage = createRoute({
  getParentRoute: () => team,
  path: '/usage',
  validateSearch: textSearch('range'),
  component: lazyRouteComponent(() => import('./usage/usage-page.js'), 'UsagePage'),
});

const routeTree = root.addChildren([
  signIn,
  signedIn.addChildren([
    start,
    me,
    invitation,
    team.addChildren([
      home,
      records.addChildren([rrset]),
      zoneFile,
      tokens,
      createToken,
      token,
      demos,
      clusters,
      createCluster,
      changeCluster,
      cluster,
      clusterTab,
      operation,
      connections,
      createConnection,
      connection,
      adoptServer,
      people,
      settings,
      audit,
      usage,
    ]),
  ]),
]);

/** All addresses of the console. A page is loaded when it is first opened. */
export const consoleRouter = (queries: QueryClient) =>
  createRouter({
    routeTree,
    basepath: '/console',
    context: { queries },
    defaultPreload: 'intent',
    // Each page has its own: the frame around it stays.
    defaultErrorComponent: BrokenPage,
    defaultNotFoundComponent: NoSuchPage,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof consoleRouter>;
  }
}
