import { readFileSync } from 'node:fs';
import {
  type AccountAction,
  accountActions,
  type ClusterRoute,
  type ClusterVerdicts,
  clusterRoutes,
  clusterVerdictsOf,
  dryRunOf,
  problemCodes,
  type Role,
  roles,
  type Verdict,
} from '@corral/contracts';
import type { Served } from '@corral/http-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Test } from 'supertest';
import { oidcClient } from '../src/people/oidc-client.js';
import type { Requests, TestUser } from './support/checked-client.js';
import { listen } from './support/listen.js';
import { startClusterApi, type TestClusterApi } from './support/start-cluster-api.js';
import {
  ABSENT_TEAM,
  absentNames,
  bodyOf,
  encodedBodyOf,
  headersOf,
  namesTeam,
  pathOf,
  pathParametersOf,
} from './support/tenancy/how-to-call.js';

/*
 * Calls every row of the route table without a session, as a stranger and in each role, as a person and as a service
 * account, and compares the answers with the table of docs/access.md.
 */

interface Account {
  readonly role: Role;
  readonly clusters: readonly string[];
  readonly actions: readonly AccountAction[];
  readonly token: string;
}

const patternSets = [['*'], ['web'], ['ci-*'], ['*-ci', 'none'], ['*ci*']] as const;

/** Every team has 20 accounts at most. */
const accountsOf = (role: Role) =>
  patternSets.map((clusters, at) => ({
    role,
    clusters,
    actions: at === 0 ? accountActions : accountActions.filter((_, of) => of !== at % accountActions.length),
  }));

let test: TestClusterApi;
let viewer: TestUser;
/** The accounts have any role and any narrowing. */
const accounts: Account[] = [];
/** The tokens belong to service accounts, one of each role, and one of another team. */
const tokens = { viewer: '', member: '', admin: '', stranger: '' };
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
  // The accounts exist before the calls, of which some end the sessions of their caller.
  for (const spec of roles.flatMap(accountsOf)) {
    accounts.push({ ...spec, token: await test.createAccount(test.acme, `${spec.role}-${accounts.length}`, spec) });
  }
  const teams = await test.db.team.findMany();
  numbers = new Map(teams.map(({ slug, number }) => [slug, String(number)]));
});
afterAll(() => test.close());

const call = (route: ClusterRoute, team: string, client: Requests): Test => {
  const number = numbers.get(team) ?? ABSENT_TEAM.number;
  const sent = client[route.method](pathOf(route, { slug: team, number })).set(headersOf(route));
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

/*
 * Requests of service accounts with any role and narrowing, to any route and cluster. What they must get is read from
 * docs/access.md, so that the page itself is tested and not the functions that made it.
 */
describe('requests of service accounts with any role and narrowing', () => {
  /** `CORRAL_TEST_LONG=1 npm test -- cluster-api access` sends 10,000. */
  const REQUESTS = process.env.CORRAL_TEST_LONG === undefined ? 200 : 10_000;
  const AT_ONCE = 20;

  interface Row {
    readonly byRole: Readonly<Record<Role, string>>;
    readonly narrowing: string;
  }

  /** The rows of the page by method and path. */
  function readAccessPage(): ReadonlyMap<string, Row> {
    const page = readFileSync(new URL('../../../docs/access.md', import.meta.url), 'utf8');
    const rows = page
      .split('\n')
      .filter((line) => /^\| `(GET|PUT|POST|DELETE) \/(?!v1)/.test(line))
      .map((line) => line.split('|').map((cell) => cell.trim()));
    return new Map(
      rows.map(([, route = '', , , , viewer = '', member = '', admin = '', narrowing = '']) => [
        route.replaceAll('`', ''),
        { byRole: { viewer, member, admin }, narrowing },
      ]),
    );
  }

  const clusterNames = ['web', 'ci-1', 'ci-main', 'main-ci', 'none'] as const;

  /** Patterns match as in a file system. */
  const covers = (patterns: readonly string[], name: string): boolean =>
    patterns.some((pattern) => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name));

  interface MixedRequest {
    /** Method and path of the row. */
    readonly row: string;
    readonly account: number;
    readonly team: 'own' | 'foreign' | 'absent';
    readonly cluster: (typeof clusterNames)[number];
  }

  const routes = new Map(
    (clusterRoutes as readonly ClusterRoute[])
      .filter(({ access }) => access !== 'public')
      .flatMap((route) => [route, dryRunOf(route)])
      .flatMap((row) => (row === null ? [] : [[nameOf(row), row] as const])),
  );
  function nameOf({ method, path, isDryRun }: ClusterRoute): string {
    return `${method.toUpperCase()} ${path}${isDryRun ? '?dryRun=true' : ''}`;
  }
  const routeOf = ({ row }: MixedRequest): ClusterRoute => routes.get(row) as ClusterRoute;

  const mixedRequest: fc.Arbitrary<MixedRequest> = fc.record({
    row: fc.constantFrom(...routes.keys()),
    account: fc.nat(),
    team: fc.constantFrom('own', 'own', 'own', 'own', 'own', 'foreign', 'absent'),
    cluster: fc.constantFrom(...clusterNames),
  });

  /** What the page says: the code of a refusal, `any` where the cell leaves it open, or null for access. */
  function documented({ byRole, narrowing }: Row, request: MixedRequest, account: Account): string | null {
    if (namesTeam(routeOf(request)) && request.team !== 'own') return 'not_found';
    const cell = byRole[account.role];
    if (cell.endsWith(' or –')) return 'any';
    if (cell === '–') return 'permission_denied';
    const [action, clusters] = narrowing.split(', ');
    if (!account.actions.includes(action as AccountAction)) return 'permission_denied';
    if (clusters === 'the cluster') return covers(account.clusters, request.cluster) ? null : 'permission_denied';
    return clusters === 'all clusters' && !account.clusters.includes('*') ? 'permission_denied' : null;
  }

  let server: Served;
  beforeAll(async () => {
    server = await listen(test.app);
  });
  afterAll(() => server.close());

  async function send(request: MixedRequest, { token }: Account) {
    const { team, cluster } = request;
    const route = routeOf(request);
    const named = {
      own: { slug: test.acme.slug, number: numbers.get('acme') as string },
      foreign: { slug: test.globex.slug, number: numbers.get('globex') as string },
      absent: ABSENT_TEAM,
    }[team];
    const isCluster = (parameter: string) => route.path.includes(`/clusters/{${parameter}}/`);
    const names = Object.fromEntries(
      pathParametersOf(route)
        .filter(isCluster)
        .map((name) => [name, cluster]),
    );
    const body = bodyOf(route);
    const response = await fetch(`${server.url}${pathOf(route, named, names)}`, {
      method: route.method.toUpperCase(),
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...headersOf(route),
      },
      ...(body === null ? {} : { body: encodedBodyOf(route, body) }),
    });
    const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true;
    const text = await response.text();
    return { status: response.status, code: isProblem ? (JSON.parse(text) as { code: string }).code : null };
  }

  const denials: readonly (string | null)[] = ['authentication_required', 'permission_denied'];

  /** The differences of an answer from the page; none if it is as documented. */
  async function differences(page: ReadonlyMap<string, Row>, request: MixedRequest): Promise<string[]> {
    const { team, cluster } = request;
    const account = accounts[request.account % accounts.length] as Account;
    const row = page.get(request.row);
    const { role, clusters, actions } = account;
    const about = `${request.row} of the ${team} team, ${cluster}, as ${role} for ${clusters} ${actions}`;
    if (row === undefined) return [`${about}: no row`];
    const expected = documented(row, request, account);
    const { status, code } = await send(request, account);
    // 502: nothing listens where the cloud provider should be.
    if (status === 500) return [`${about}: ${status}`];
    if (expected === 'any') return status === 401 ? [`${about}: 401`] : [];
    const isAsSaid = expected === null ? !denials.includes(code) : code === expected;
    return isAsSaid ? [] : [`${about}: ${status} ${code} instead of ${expected ?? 'access'}`];
  }

  it('are answered as docs/access.md says', async () => {
    const page = readAccessPage();

    await fc.assert(
      fc.asyncProperty(fc.array(mixedRequest, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (requests) => {
        const found = await Promise.all(requests.map((request) => differences(page, request)));
        expect(found.flat()).toEqual([]);
      }),
      { numRuns: REQUESTS / AT_ONCE, endOnFailure: true },
    );
  }, 900_000);
});
