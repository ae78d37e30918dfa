import { readFileSync } from 'node:fs';
import {
  type AccountAction,
  accountActions,
  type ClusterRoute,
  clusterRoutes,
  dryRunOf,
  type Role,
  roles,
} from '@corral/contracts';
import type { Served } from '@corral/http-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { listen } from '../support/listen.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';
import {
  ABSENT_TEAM,
  bodyOf,
  encodedBodyOf,
  headersOf,
  namesTeam,
  pathOf,
  pathParametersOf,
} from '../support/tenancy/how-to-call.js';

/*
 * Requests of service accounts with any role and narrowing, to any route and cluster. What they must get is read from
 * docs/access.md, so that the page itself is tested and not the functions that made it.
 */

/** `CORRAL_TEST_LONG=1 npm test -- cluster-api accounts.property` sends 10,000. */
const REQUESTS = process.env.CORRAL_TEST_LONG === undefined ? 600 : 10_000;
const AT_ONCE = 20;

interface Row {
  readonly foreign: string;
  readonly byRole: Readonly<Record<Role, string>>;
  readonly narrowing: string;
}

/** The rows of the page by method and path. */
function readAccessPage(): ReadonlyMap<string, Row> {
  const page = readFileSync(new URL('../../../../docs/access.md', import.meta.url), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => /^\| `(GET|PUT|POST|DELETE) \/(?!v1)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  return new Map(
    rows.map(([, route = '', , foreign = '', , , , viewer = '', member = '', admin = '', narrowing = '']) => [
      route.replaceAll('`', ''),
      { foreign, byRole: { viewer, member, admin }, narrowing },
    ]),
  );
}

interface Account {
  readonly role: Role;
  readonly clusters: readonly string[];
  readonly actions: readonly AccountAction[];
  readonly token: string;
}

const clusterNames = ['web', 'ci-1', 'ci-main', 'main-ci', 'none'] as const;
const patternSets = [['*'], ['web'], ['ci-*'], ['*-ci', 'none'], ['*ci*']] as const;

/** As in a file system. */
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
function documented({ foreign, byRole, narrowing }: Row, request: MixedRequest, account: Account): string | null {
  if (namesTeam(routeOf(request)) && request.team !== 'own') return codeIn(foreign);
  const cell = byRole[account.role];
  if (/, or 403/.test(cell)) return 'any';
  if (codeIn(cell) !== null) return codeIn(cell);
  const [action, clusters] = narrowing.split(', ');
  if (!account.actions.includes(action as AccountAction)) return 'permission_denied';
  if (clusters === 'the cluster') return covers(account.clusters, request.cluster) ? null : 'permission_denied';
  return clusters === 'all clusters' && !account.clusters.includes('*') ? 'permission_denied' : null;
}

const codeIn = (cell: string): string | null => /^\d{3} `(\w+)`$/.exec(cell)?.[1] ?? null;

/** Every team has 20 accounts at most. */
const accountsOf = (role: Role) =>
  patternSets.map((clusters, at) => ({
    role,
    clusters,
    actions: at === 0 ? accountActions : accountActions.filter((_, of) => of !== at % accountActions.length),
  }));

let t: TestClusterApi;
let server: Served;
let accounts: Account[];
/** Numbers of teams, which some paths have instead of slugs. */
let numbers: Readonly<Record<'own' | 'foreign', string>>;
beforeAll(async () => {
  t = await startClusterApi();
  server = await listen(t.app);
  accounts = [];
  for (const role of roles) {
    for (const spec of accountsOf(role)) {
      accounts.push({ ...spec, token: await t.createAccount(t.acme, `${role}-${accounts.length}`, spec) });
    }
  }
  const numberOf = async ({ id }: { id: string }) =>
    String((await t.db.team.findUniqueOrThrow({ where: { id } })).number);
  numbers = { own: await numberOf(t.acme), foreign: await numberOf(t.globex) };
});
afterAll(async () => {
  await server?.close();
  await t?.close();
});

async function send(request: MixedRequest, { token }: Account) {
  const { team, cluster } = request;
  const route = routeOf(request);
  const named = {
    own: { slug: t.acme.slug, number: numbers.own },
    foreign: { slug: t.globex.slug, number: numbers.foreign },
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

describe('requests of service accounts with any role and narrowing', () => {
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
