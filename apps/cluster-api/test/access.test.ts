import {
  type AccountAction,
  accountActionOf,
  accountActions,
  type ClusterRoute,
  type ClusterVerdicts,
  clusterParameterOf,
  clusterRoutes,
  clusterVerdictsOf,
  dryRunOf,
  problemCodes,
  type Role,
  roles,
  type Verdict,
} from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Test } from 'supertest';
import { oidcClient } from '../src/people/oidc-client.js';
import type { Requests, TestUser } from './support/checked-client.js';
import { startClusterApi, type TestClusterApi } from './support/start-cluster-api.js';
import {
  ABSENT_TEAM,
  absentNames,
  bodyOf,
  headersOf,
  namesTeam,
  pathOf,
  pathParametersOf,
} from './support/tenancy/how-to-call.js';

/*
 * Calls every row of the route table without a session, as a stranger and in each role, as a person and as a service
 * account, and compares the answers with the table of docs/access.md.
 */

interface Narrowed {
  readonly role: Role;
  readonly clusters: readonly string[];
  /** Those of the names below that the patterns cover. */
  readonly covers: readonly string[];
  readonly actions: readonly AccountAction[];
}

const clusterNames = ['web', 'ci-1', 'main-ci', 'none'];
const narrowed: readonly Narrowed[] = [
  { role: 'admin', clusters: ['*'], covers: clusterNames, actions: ['read', 'kubeconfig'] },
  { role: 'admin', clusters: ['ci-*'], covers: ['ci-1'], actions: accountActions },
  { role: 'member', clusters: ['*-ci', 'none'], covers: ['main-ci', 'none'], actions: ['change', 'kubeconfig'] },
  { role: 'member', clusters: ['*ci*'], covers: ['ci-1', 'main-ci'], actions: ['read', 'delete'] },
];

/** What docs/access.md says of a service account with a narrowing. */
function verdictOf(route: ClusterRoute, { role, covers, actions }: Narrowed, cluster: string | null): Verdict {
  if (route.access === 'public') return 'served';
  const isAllowed = clusterVerdictsOf(route)[`${role}Account`] === 'served' && actions.includes(accountActionOf(route));
  const isForAll = route.ofClusters !== undefined || covers === clusterNames;
  return isAllowed && (isForAll || (cluster !== null && covers.includes(cluster))) ? 'served' : 'permission_denied';
}

let test: TestClusterApi;
let viewer: TestUser;
/** The tokens belong to service accounts, one of each role, and one of another team. */
const tokens = { viewer: '', member: '', admin: '', stranger: '' };
const narrowedTokens: string[] = [];
/** Numbers of the existing teams, by slug. */
let numbers: ReadonlyMap<string, string>;
beforeAll(async () => {
  // Nothing listens there. It is enough that a sign-in gets as far as the provider.
  const oidc = oidcClient({ issuer: 'http://127.0.0.1:9', clientId: 'c', clientSecret: undefined, scopes: 'openid' });
  const billingSecrets = ['a-secret-of-the-billing-system'];
  test = await startClusterApi({ config: { devSignIn: true, billingSecrets }, deps: { oidc } });
  viewer = await test.createUser('viewer@acme.test', [{ team: test.acme, role: 'viewer' }]);
  for (const role of roles) tokens[role] = await test.createAccount(test.acme, `as-${role}`, { role });
  tokens.stranger = await test.createAccount(test.globex, 'foreign', { role: 'admin' });
  for (const [at, { role, clusters, actions }] of narrowed.entries()) {
    narrowedTokens.push(await test.createAccount(test.acme, `narrowed-${at}`, { role, clusters, actions }));
  }
  const teams = await test.db.team.findMany();
  numbers = new Map(teams.map(({ slug, number }) => [slug, String(number)]));
});
afterAll(() => test.close());

const call = (route: ClusterRoute, team: string, client: Requests, names = {}): Test => {
  const number = numbers.get(team) ?? ABSENT_TEAM.number;
  const sent = client[route.method](pathOf(route, { slug: team, number }, names)).set(headersOf(route));
  const body = bodyOf(route);
  return body === null ? sent : sent.send(body);
};

/** A new session for each call, because some routes end the caller's sessions. */
const inSession = async (user: TestUser): Promise<Requests> => test.api.as({ cookie: await test.signIn(user) });

const callers: Record<keyof ClusterVerdicts, () => Promise<Requests>> = {
  anonymous: async () => test.api,
  stranger: () => inSession(test.globex.admin),
  viewer: () => inSession(viewer),
  member: () => inSession(test.acme.member),
  admin: () => inSession(test.acme.admin),
  viewerAccount: async () => test.api.withToken(tokens.viewer),
  memberAccount: async () => test.api.withToken(tokens.member),
  adminAccount: async () => test.api.withToken(tokens.admin),
};

/** Asserts a denial, or for an allowed call any answer that is not a denial. */
function expectVerdict(route: ClusterRoute, verdict: Verdict, { status, body }: Answer): void {
  if (verdict !== 'served') {
    expect([status, body.code]).toEqual([problemCodes[verdict].status, verdict]);
    return;
  }
  expect([401, 405, 500]).not.toContain(status);
  expect(body.code).not.toBe('permission_denied');
  if (!pathParametersOf(route).some((name) => name in absentNames)) expect(status).not.toBe(404);
}
type Answer = Pick<Awaited<Test>, 'status' | 'body'>;

/** The rows of the table, with those of dry runs. */
const rows = (clusterRoutes as readonly ClusterRoute[])
  .flatMap((route) => [route, dryRunOf(route)])
  .filter((row) => row !== null);

describe.each(
  rows.map((route) => [`${route.method} ${route.path}${route.isDryRun ? '?dryRun=true' : ''}`, route] as const),
)('%s', (_row, route) => {
  it.each(Object.entries(clusterVerdictsOf(route)) as [keyof ClusterVerdicts, Verdict][])(
    'is for %s: %s',
    async (caller, verdict) => {
      const client = await callers[caller]();

      expectVerdict(route, verdict, await call(route, 'acme', client));
    },
  );

  it('is for service accounts with a narrowing as far as that goes', async () => {
    const parameter = clusterParameterOf(route);
    for (const [at, account] of narrowed.entries()) {
      const client = test.api.withToken(narrowedTokens[at] as string);
      for (const cluster of parameter === null ? [null] : clusterNames) {
        const names = parameter === null ? {} : { [parameter]: cluster };

        expectVerdict(route, verdictOf(route, account, cluster), await call(route, 'acme', client, names));
      }
    }
  });

  if (namesTeam(route)) {
    it.each([
      ['person', () => callers.stranger()],
      ['service account', async () => test.api.withToken(tokens.stranger)],
    ])('answers a foreign %s the same for existing and absent teams', async (_kind, find) => {
      const stranger = await find();
      const foreign = await call(route, 'acme', stranger).expect(404);
      const absent = await call(route, 'no-such-team', stranger).expect(404);

      const same = ({ instance, ...rest }: Record<string, unknown>) => rest;
      expect(same(foreign.body)).toEqual(same(absent.body));
      expect(Object.keys(foreign.headers).sort()).toEqual(Object.keys(absent.headers).sort());
    });
  }
});

describe('a malformed team name in a path', () => {
  it.each(['ACME', 'acme%00', 'acme%2F..%2Facme', '..', '*', '%', 'acme ', 'acmé'.normalize('NFD')])(
    '%j is not found',
    async (team) => {
      const path = `/api/v1/teams/${encodeURI(team).replaceAll('%25', '%')}/clusters/`;

      await test.api
        .as({ cookie: await test.signIn(test.acme.admin) })
        .get(path)
        .expect(404);
    },
  );
});
