import {
  type ClusterRoute,
  type ClusterVerdicts,
  clusterRoutes,
  clusterVerdictsOf,
  problemCodes,
  type Verdict,
} from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Test } from 'supertest';
import { oidcClient } from '../src/oidc/oidc-client.js';
import {
  ABSENT_TEAM,
  absentNames,
  bodyOf,
  headersOf,
  namesTeam,
  pathOf,
  pathParametersOf,
} from './support/how-to-call.js';
import { startClusterApi, type TestClusterApi, type TestUser } from './support/start-cluster-api.js';

/*
 * Every row of the route table as nobody, as a stranger, as a member and as an administrator, held against
 * the table of docs/access.md.
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

const call = (route: ClusterRoute, team: string, user: TestUser | null): Test => {
  const client = user === null ? test.api : test.api.as(user);
  const number = numbers.get(team) ?? ABSENT_TEAM.number;
  const sent = client[route.method](pathOf(route, { slug: team, number })).set(headersOf(route));
  const body = bodyOf(route);
  return body === null ? sent : sent.send(body);
};

const callers: Record<keyof ClusterVerdicts, () => Promise<TestUser | null>> = {
  nobody: async () => null,
  stranger: async () => test.globex.admin,
  member: async () => test.acme.member,
  admin: async () => test.acme.admin,
};

/** What is answered to whoever may not, or to whoever may and asks for what is not there. */
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

/** Some routes end the session that asks, or all of its owner. */
const withOwnSession = async (user: TestUser | null): Promise<TestUser | null> =>
  user === null ? null : { ...user, cookie: await test.signIn(user) };

describe.each(
  (clusterRoutes as readonly ClusterRoute[]).map((route) => [`${route.method} ${route.path}`, route] as const),
)('%s', (_row, route) => {
  it.each(Object.entries(clusterVerdictsOf(route)) as [keyof ClusterVerdicts, Verdict][])(
    'is for %s: %s',
    async (caller, verdict) => {
      const user = await withOwnSession(await callers[caller]());

      expectVerdict(route, verdict, await call(route, 'acme', user));
    },
  );

  if (namesTeam(route)) {
    it('looks to a stranger as if the team did not exist, whether or not it does', async () => {
      const stranger = await withOwnSession(test.globex.admin);
      const foreign = await call(route, 'acme', stranger).expect(404);
      const absent = await call(route, 'no-such-team', stranger).expect(404);

      const same = ({ instance, ...rest }: Record<string, unknown>) => rest;
      expect(same(foreign.body)).toEqual(same(absent.body));
      expect(Object.keys(foreign.headers).sort()).toEqual(Object.keys(absent.headers).sort());
    });
  }
});

describe('the name of a team in a path', () => {
  it.each(['ACME', 'acme%00', 'acme%2F..%2Facme', '..', '*', '%', 'acme ', 'acmé'.normalize('NFD')])(
    '%j is that of no team of the caller',
    async (team) => {
      const path = `/api/v1/teams/${encodeURI(team).replaceAll('%25', '%')}/clusters/`;

      await test.api
        .as({ cookie: await test.signIn(test.acme.admin) })
        .get(path)
        .expect(404);
    },
  );
});
