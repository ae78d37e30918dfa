import { type ClusterOperationId, type ClusterRoute, clusterRoutes } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Test } from 'supertest';
import { oidcClient } from '../src/oidc/oidc-client.js';
import { startClusterApi, type TestClusterApi, type TestUser } from './support/start-cluster-api.js';

/*
 * Every row of the route table as nobody, as a stranger, as a member and as an administrator. A row that this file does
 * not know how to call fails to compile.
 */

let test: TestClusterApi;
/** Of the teams that are there, by slug. */
let numbers: ReadonlyMap<string, string>;
beforeAll(async () => {
  // Nothing listens there: that a sign-in gets as far as the provider is enough.
  const oidc = oidcClient({ issuer: 'http://127.0.0.1:9', clientId: 'c', clientSecret: undefined, scopes: 'openid' });
  const billingSecrets = ['a-secret-of-the-billing-system'];
  test = await startClusterApi({ config: { devSignIn: true, billingSecrets }, deps: { oidc } });
  const teams = await test.db.team.findMany();
  numbers = new Map(teams.map(({ slug, number }) => [slug, String(number)]));
});
afterAll(() => test.close());

const spec = { connectionRef: 'none', region: 'hel1', kubernetesVersion: '1.33.4' };
const pool = { name: 'general', machineType: 'cpx31' };
const connection = { provider: 'hcloud', token: 'token' };

/** What is sent where a body is wanted. Nothing that the paths name exists. */
const bodies: Record<ClusterOperationId, object | null> = {
  getMe: null,
  listTeams: null,
  listClusters: null,
  putCluster: { spec },
  getCluster: null,
  deleteCluster: null,
  hibernateCluster: null,
  resumeCluster: null,
  retryCluster: null,
  issueKubeconfig: {},
  listNodePools: null,
  putNodePool: { spec: pool },
  getNodePool: null,
  deleteNodePool: null,
  listOperations: null,
  getOperation: null,
  listConnections: null,
  createConnection: { spec: connection },
  putConnection: { spec: connection },
  getConnection: null,
  deleteConnection: null,
  listAdoptedServers: null,
  adoptServer: {
    spec: { serverID: 4711, serverType: 'cx22', location: 'hel1', architecture: 'amd64', serverKind: 'cloud' },
    acknowledge: { confirm: 'WIPE' },
  },
  getAdoptedServer: null,
  deregisterServer: null,
  listDnsTokens: null,
  createDnsToken: { name: 'ci' },
  getDnsToken: null,
  revokeDnsToken: null,
  getDnsUsage: null,
  streamTeamEvents: null,
  listAudit: null,
  exportAudit: null,
  listTeamDetails: null,
  getTeam: null,
  putTeam: { name: 'Acme' },
  listInvitations: null,
  createInvitation: { email: 'somebody@acme.test' },
  renewInvitation: null,
  revokeInvitation: null,
  listMembers: null,
  putMember: { role: 'member' },
  deleteMember: null,
  listReceivedInvitations: null,
  getReceivedInvitation: null,
  acceptInvitation: null,
  takeBillingEvent: {},
  listSessions: null,
  revokeSession: null,
  startSignIn: null,
  finishSignIn: null,
  signOut: null,
  signOutEverywhere: null,
  devSignIn: { email: 'nobody@acme.test' },
};

const parameters: Record<string, string> = {
  name: 'web',
  cluster: 'web',
  pool: 'general',
  ref: 'none',
  id: '00000000-0000-4000-8000-000000000000',
};
function pathOf(route: ClusterRoute, team: string): string {
  const teamNames: Record<string, string> = { team, team_slug: team, team_id: numbers.get(team) ?? '2000000000' };
  return route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => (teamNames[name] ?? parameters[name]) as string);
}

function call(route: ClusterRoute, team: string, user: TestUser | null): Test {
  const client = user === null ? test.api : test.api.as(user);
  const body = bodies[route.operationId as ClusterOperationId];
  const sent = client[route.method](pathOf(route, team));
  // A stream that was begun would not end: whoever may have it is told that this is no place to begin at.
  if (route.events) sent.set('Last-Event-ID', 'none');
  return body === null ? sent : sent.send(body);
}

const routes = clusterRoutes as readonly ClusterRoute[];
const rowsOf = (...access: ClusterRoute['access'][]) =>
  routes
    .filter((route) => access.includes(route.access))
    .map((route) => [`${route.method} ${route.path}`, route] as const);

describe.each(rowsOf('member', 'admin'))('%s', (_row, route) => {
  it('is not for nobody', async () => {
    const { body } = await call(route, 'acme', null).expect(401);

    expect(body.code).toBe('authentication_required');
  });

  it('looks to a stranger as if the team did not exist, whether or not it does', async () => {
    const foreign = await call(route, 'acme', test.globex.admin).expect(404);
    const absent = await call(route, 'no-such-team', test.globex.admin).expect(404);

    const same = ({ instance, ...rest }: Record<string, unknown>) => rest;
    expect(same(foreign.body)).toEqual(same(absent.body));
    expect(Object.keys(foreign.headers).sort()).toEqual(Object.keys(absent.headers).sort());
  });

  it(`is ${route.access === 'admin' ? 'not ' : ''}for a member`, async () => {
    const { status, body } = await call(route, 'acme', test.acme.member);

    if (route.access === 'admin') expect([status, body.code]).toEqual([403, 'permission_denied']);
    else expect([401, 403, 405]).not.toContain(status);
  });

  it('is for an administrator', async () => {
    const { status } = await call(route, 'acme', test.acme.admin);

    expect([401, 403, 405, 500]).not.toContain(status);
  });
});

describe.each(rowsOf('session'))('%s', (_row, route) => {
  it('is not for nobody', async () => {
    expect((await call(route, 'acme', null).expect(401)).body.code).toBe('authentication_required');
  });

  it('is for whoever is signed in, even without a team', async () => {
    const { status } = await call(route, 'acme', await test.createUser(`loner-${route.operationId}@acme.test`));

    expect([401, 403, 405, 500]).not.toContain(status);
  });
});

describe.each(rowsOf('public'))('%s', (_row, route) => {
  it('is for everybody', async () => {
    expect([401, 404, 405]).not.toContain((await call(route, 'acme', null)).status);
  });
});

describe('the name of a team in a path', () => {
  it.each(['ACME', 'acme%00', 'acme%2F..%2Facme', '..', '*', '%', 'acme ', 'acmé'.normalize('NFD')])(
    '%j is that of no team of the caller',
    async (team) => {
      const path = `/api/v1/teams/${encodeURI(team).replaceAll('%25', '%')}/clusters/`;

      await test.api.as(test.acme.admin).get(path).expect(404);
    },
  );
});
