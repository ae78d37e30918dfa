import { isCorralError } from '@corral/client';
import { type QueryClient, useSuspenseQuery } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  type StaticDataRouteOption,
} from '@tanstack/react-router';
import { lazy } from 'react';
import { meQuery } from './api/queries.js';
import { BrokenPage, NoSuchPage } from './shell/no-page.js';
import { Shell } from './shell/shell.js';
import type { TeamOperation } from './shell/use-team.js';

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

const dnsTokens = { label: 'DNS tokens', path: '/dns/tokens' };
const clustersCrumb = { label: 'Clusters', path: '/clusters' };
const connectionsCrumb = { label: 'Connections', path: '/connections' };
const accessCrumb = { label: 'Access', path: '/access' };

const NotYourTeam = lazy(async () => ({ default: (await import('./shell/plain-frame.js')).NotYourTeam }));

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
  component: lazyRouteComponent(() => import('./people/invitations.js'), 'NoTeamPage'),
});

const me = createRoute({
  getParentRoute: () => signedIn,
  path: '/me',
  staticData: { title: 'Sessions and preferences' },
  component: lazyRouteComponent(() => import('./people/me-page.js'), 'MePage'),
});

const device = createRoute({
  getParentRoute: () => signedIn,
  path: '/device',
  staticData: { title: 'Sign in a machine' },
  validateSearch: textSearch('user_code'),
  component: lazyRouteComponent(() => import('./people/device-page.js'), 'DevicePage'),
});

const invitation = createRoute({
  getParentRoute: () => signedIn,
  path: '/invitations/$id',
  staticData: { title: 'Invitation' },
  component: lazyRouteComponent(() => import('./people/invitations.js'), 'InvitationPage'),
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

/** A page of a team. @param more who needs it for what, and the pages between that of the team and this one */
const ofTeam = <const P extends string>(path: P, title: string, more: Omit<StaticDataRouteOption, 'title'> = {}) => ({
  getParentRoute: () => team,
  path,
  staticData: { title, ...more },
});

const home = createRoute({
  ...ofTeam('/', 'Home'),
  component: lazyRouteComponent(() => import('./home/home-page.js'), 'HomePage'),
});

const records = createRoute({
  ...ofTeam('/dns/records', 'Record sets'),
  validateSearch: textSearch('filter', 'type', 'label', 'sort'),
  component: lazyRouteComponent(() => import('./records/records-page.js'), 'RecordsPage'),
});

/** A drawer of the list. */
const rrset = createRoute({
  getParentRoute: () => records,
  path: '$name/$type',
  staticData: { title: 'Record sets' },
});

const zoneFile = createRoute({
  ...ofTeam('/dns/zone-file', 'Zone file'),
  component: lazyRouteComponent(() => import('./zone-file/zone-file-page.js'), 'ZoneFilePage'),
});

const tokens = createRoute({
  ...ofTeam('/dns/tokens', 'DNS tokens'),
  validateSearch: textSearch('state', 'filter'),
  component: lazyRouteComponent(() => import('./dns-tokens/tokens-page.js'), 'TokensPage'),
});

const createToken = createRoute({
  ...ofTeam('/dns/tokens/+', 'Create DNS token', {
    crumbs: [dnsTokens],
    needs: { operation: 'createDnsToken', what: 'create DNS tokens' },
  }),
  component: lazyRouteComponent(() => import('./dns-tokens/create-token-page.js'), 'CreateTokenPage'),
});

const token = createRoute({
  ...ofTeam('/dns/tokens/$id', 'DNS token', { crumbs: [dnsTokens] }),
  component: lazyRouteComponent(() => import('./dns-tokens/token-page.js'), 'TokenPage'),
});

const demos = createRoute({
  ...ofTeam('/dns/demos', 'Demos'),
  component: lazyRouteComponent(() => import('./demos/demos-page.js'), 'DemosPage'),
});

const clusters = createRoute({
  ...ofTeam('/clusters', 'Clusters'),
  validateSearch: textSearch('filter'),
  component: lazyRouteComponent(() => import('./clusters/clusters-page.js'), 'ClustersPage'),
});

const createCluster = createRoute({
  ...ofTeam('/clusters/+', 'Create cluster', {
    crumbs: [clustersCrumb],
    needs: { operation: 'putCluster', what: 'create clusters' },
  }),
  validateSearch: textSearch('like'),
  component: lazyRouteComponent(() => import('./cluster-form/create-cluster-page.js'), 'CreateClusterPage'),
});

const changeCluster = createRoute({
  ...ofTeam('/clusters/$name/change', 'Change cluster', {
    crumbs: [clustersCrumb, { label: '$name', path: '/clusters/$name' }],
    needs: { operation: 'putCluster', what: 'change clusters' },
  }),
  component: lazyRouteComponent(() => import('./cluster-form/change-cluster-page.js'), 'ChangeClusterPage'),
});

const cluster = createRoute({
  ...ofTeam('/clusters/$name', 'Cluster', { crumbs: [clustersCrumb] }),
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
  ...ofTeam('/operations/$id', 'Operation', { crumbs: [clustersCrumb] }),
  component: lazyRouteComponent(() => import('./operations/operation-page.js'), 'OperationPage'),
});

const connections = createRoute({
  ...ofTeam('/connections', 'Connections'),
  component: lazyRouteComponent(() => import('./connections/connections-page.js'), 'ConnectionsPage'),
});

const createConnection = createRoute({
  ...ofTeam('/connections/+', 'Connect project', {
    crumbs: [connectionsCrumb],
    needs: { operation: 'createConnection', what: 'connect cloud projects' },
  }),
  component: lazyRouteComponent(() => import('./connections/create-connection-page.js'), 'CreateConnectionPage'),
});

const connection = createRoute({
  ...ofTeam('/connections/$ref', 'Connection', { crumbs: [connectionsCrumb] }),
  component: lazyRouteComponent(() => import('./connections/connection-page.js'), 'ConnectionPage'),
});

const adoptServer = createRoute({
  ...ofTeam('/connections/$ref/servers/+', 'Adopt server', {
    crumbs: [connectionsCrumb, { label: '$ref', path: '/connections/$ref' }],
    needs: { operation: 'adoptServer', what: 'adopt servers' },
  }),
  validateSearch: textSearch('number'),
  component: lazyRouteComponent(() => import('./connections/adopt-server-page.js'), 'AdoptServerPage'),
});

const access = createRoute({
  ...ofTeam('/access', 'Access'),
  component: lazyRouteComponent(() => import('./access/access-page.js'), 'AccessPage'),
});

const robot = createRoute({
  ...ofTeam('/access/robots/$account', 'Robot', {
    crumbs: [accessCrumb],
    needs: { operation: 'getServiceAccount', what: 'see the robots of the team' },
  }),
  component: lazyRouteComponent(() => import('./access/robot-page.js'), 'RobotPage'),
});

const webhooks = createRoute({
  ...ofTeam('/webhooks', 'Webhooks', { needs: { operation: 'listWebhooks', what: 'see the webhooks of the team' } }),
  component: lazyRouteComponent(() => import('./webhooks/webhooks-page.js'), 'WebhooksPage'),
});

const people = createRoute({
  getParentRoute: () => team,
  path: '/people',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/teams/$team/access', params, replace: true });
  },
});

const settings = createRoute({
  ...ofTeam('/settings', 'Settings'),
  component: lazyRouteComponent(() => import('./people/settings-page.js'), 'SettingsPage'),
});

const audit = createRoute({
  ...ofTeam('/audit', 'Audit', { needs: { operation: 'listAudit', what: 'see the audit log' } }),
  validateSearch: textSearch('kind', 'action', 'outcome', 'name', 'type', 'actor', 'request_id', 'from', 'to'),
  component: lazyRouteComponent(() => import('./audit/audit-page.js'), 'AuditPage'),
});

const usage = createRoute({
  ...ofTeam('/usage', 'Usage'),
  validateSearch: textSearch('range'),
  component: lazyRouteComponent(() => import('./usage/usage-page.js'), 'UsagePage'),
});

const routeTree = root.addChildren([
  signIn,
  signedIn.addChildren([
    start,
    me,
    device,
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
      access,
      robot,
      webhooks,
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
  interface StaticDataRouteOption {
    /** The title of the page until it knows the name of the thing that it shows. */
    readonly title?: string;
    /** Pages between that of the team and this one. Labels and paths may contain parameters of the path, as `$name`. */
    readonly crumbs?: readonly { readonly label: string; readonly path: string }[];
    /** The page is for those who may do this, see `shell/role-needed.tsx`. */
    readonly needs?: { readonly operation: TeamOperation; readonly what: string };
  }
}
