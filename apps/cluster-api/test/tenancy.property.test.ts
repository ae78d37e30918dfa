import { clusterVerdictsOf, dryRunOf, problemCodes, type Verdict } from '@corral/contracts';
import type { Served } from '@corral/http-api';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type FakeProvider, fakeProvider } from './support/fake-provider.js';
import { listen } from './support/listen.js';
import { startClusterApi, type TestClusterApi } from './support/start-cluster-api.js';
import { namesTeam } from './support/tenancy/how-to-call.js';
import { type Extras, type Filled, fill, type MixedRequest, mixedRequests } from './support/tenancy/mixed-requests.js';
import { type FurnishedTeam, furnish, rowsOf } from './support/tenancy/two-teams.js';

/*
 * Requests of one team that name resources of another: in paths, filters, cursors, bodies, entity tags and idempotency
 * keys. They are generated from the route table, so they cover every route.
 */

/** Number of concurrent requests. */
const AT_ONCE = 20;
/** Rounds of one request to every route. `CORRAL_TEST_LONG=1 npm test -- cluster-api tenancy.property` runs more. */
const RUNS = process.env.CORRAL_TEST_LONG === undefined ? 4 : 200;

let provider: FakeProvider;
let t: TestClusterApi;
let server: Served;
let acme: FurnishedTeam;
let globex: FurnishedTeam;
let extras: Extras;

beforeAll(async () => {
  provider = fakeProvider();
  t = await startClusterApi({ deps: { projects: provider.projects } });
  server = await listen(t.app);
  await t.db.team.updateMany({ data: { clustersMax: 10_000 } });
  acme = await furnish(t, t.acme);
  globex = await furnish(t, t.globex);
  extras = {
    cursors: { own: await cursorsOf(acme), foreign: await cursorsOf(globex) },
    tags: { own: await tagsOf(acme), foreign: await tagsOf(globex) },
  };
});
afterAll(async () => {
  await server?.close();
  await t?.close();
  provider?.close();
});

interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  readonly json: any;
}

async function send({ method, path, headers, body }: Filled, cookie: string | null): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(cookie === null ? {} : { cookie }) },
    ...(body === null ? {} : { body }),
  });
  const text = await response.text();
  const isJson = /json$|json;/.test(response.headers.get('content-type') ?? '');
  const isLines = response.headers.get('content-type')?.includes('ndjson');
  return { status: response.status, text, json: isJson && !isLines && text !== '' ? JSON.parse(text) : null };
}

const get = (of: FurnishedTeam, rest: string): Promise<Answer> =>
  send({ method: 'GET', path: of.team.path(rest), headers: {}, body: null }, of.team.admin.cookie);

const cursorsOf = async (of: FurnishedTeam): Promise<string[]> =>
  (
    await Promise.all(
      ['/clusters/', '/operations/', '/audit/', '/dns-tokens/'].map((rest) => get(of, `${rest}?limit=1`)),
    )
  ).flatMap(({ json }) => (typeof json.next === 'string' ? [json.next] : []));
const tagsOf = async (of: FurnishedTeam): Promise<string[]> =>
  (await get(of, '/clusters/')).json.items.map(({ metadata }: { metadata: { etag: string } }) => metadata.etag);

const without = ({ instance, ...rest }: Record<string, unknown>) => rest;
const shown = ({ status, json }: Answer) => [status, json?.code ?? null];

/** The verdict of docs/access.md for the caller. Null when it depends on the resource. */
function denialOf({ route, caller, team }: MixedRequest, { path }: Filled): Verdict | null {
  const verdicts = clusterVerdictsOf((path.includes('dryRun=true') ? dryRunOf(route) : null) ?? route);
  if (caller === 'anonymous') return verdicts.anonymous;
  return namesTeam(route) && team !== 'own' ? verdicts.stranger : verdicts[caller];
}

async function check(request: MixedRequest): Promise<void> {
  const sides = { own: acme, foreign: globex };
  const cookie = request.caller === 'anonymous' ? null : acme.team[request.caller].cookie;
  const filled = fill(request, sides, extras, 'foreign');
  const answer = await send(filled, cookie);

  const summary = `${filled.method} ${filled.path} as ${request.caller}: ${answer.status}`;
  expect([summary, answer.status < 500]).toEqual([summary, true]);
  const sent = filled.path + (filled.body ?? '') + JSON.stringify(filled.headers);
  const leaked = globex.secrets.filter((secret) => answer.text.includes(secret) && !sent.includes(secret));
  expect([summary, leaked]).toEqual([summary, []]);

  const denial = denialOf(request, filled);
  if (denial !== null && denial !== 'served') {
    expect([summary, ...shown(answer)]).toEqual([summary, problemCodes[denial].status, denial]);
  }
  if (answer.status === 404)
    expect([summary, without(answer.json)]).toEqual([summary, without(absenceOn(request, answer))]);
  if (denial === 'served' && request.route.method !== 'put') await compareWithNothing(request, answer, cookie, summary);
}

/** The body of every 404, except for a server that the caller's own cloud project does not have. */
let nothing: Record<string, unknown>;
const absentServer = 'The connection’s cloud project has no server with this number. Check the number.';
const absenceOn = ({ route, choices }: MixedRequest, { json }: Answer): Record<string, unknown> =>
  route.operationId === 'getProjectServer' && choices.ref?.whose === 'own' && json.detail === absentServer
    ? { ...nothing, detail: absentServer }
    : nothing;

/** Asserts that foreign names are answered like absent ones. Retries, because concurrent requests write meanwhile. */
async function compareWithNothing(request: MixedRequest, first: Answer, cookie: string | null, summary: string) {
  const sides = { own: acme, foreign: globex };
  const [filled, twin] = [fill(request, sides, extras, 'foreign'), fill(request, sides, extras, 'absent')];
  if (JSON.stringify(filled) === JSON.stringify(twin)) return;
  let [answer, other] = [first, await send(twin, cookie)];
  for (let tries = 0; tries < 3 && String(shown(answer)) !== String(shown(other)); tries += 1) {
    [answer, other] = [await send(filled, cookie), await send(twin, cookie)];
  }
  expect([summary, ...shown(answer)]).toEqual([summary, ...shown(other)]);
}

it('requests that mix resources of two teams get no data of the other team and exactly the documented denials', async () => {
  const before = await rowsOf(t, globex.team);
  nothing = (await get(acme, '/clusters/no-such-cluster/')).json;
  expect(nothing.code).toBe('not_found');

  await fc.assert(
    fc.asyncProperty(mixedRequests, async (requests) => {
      for (let at = 0; at < requests.length; at += AT_ONCE) {
        await Promise.all(requests.slice(at, at + AT_ONCE).map(check));
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );

  expect(await rowsOf(t, globex.team)).toEqual(before);
}, 900_000);
