import { checkDnsAnswer, type DnsOperationId, type DnsRoute, dnsRoutes, dnsStrangerVerdictOf } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeDemo } from './support/demos.js';
import { expectError, expectRefusal } from './support/expect-refusal.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/*
 * Iterates over the route table, so that no route can be forgotten: a route that is missing in `howToCall` fails here and does not
 * compile. Each route is called without a token, by another team and by the owner, and compared with the table in
 * docs/access.md.
 */

interface HowToCall {
  /** The call for acme's own resources. `name` is a new set of type A for each call. */
  readonly own: (own: Own) => Filled;
  /** The same call for resources that do not exist. */
  readonly absent: (own: Own) => Filled;
}
interface Own {
  readonly name: string;
  readonly actionId: number;
  /** Label of a demo. */
  readonly label: string;
}
interface Filled {
  readonly path: string;
  readonly body?: object;
}

const records = [{ value: '192.0.2.7' }];
const setPath = (name: string) => `/zones/${ZONE}/rrsets/${name}/A`;
const onSet = (below: string, body?: object): HowToCall => ({
  own: ({ name }) => ({ path: `${setPath(name)}${below}`, ...(body === undefined ? {} : { body }) }),
  absent: () => ({ path: `${setPath('none.acme')}${below}`, ...(body === undefined ? {} : { body }) }),
});
const ABSENT_ACTION = 4_000_000_000;
const onActions = (path: (id: number) => string): HowToCall => ({
  own: ({ actionId }) => ({ path: path(actionId) }),
  absent: () => ({ path: path(ABSENT_ACTION) }),
});
const zoneOnly = (below: string): HowToCall => ({
  own: () => ({ path: `/zones${below.replace('Z', ZONE)}` }),
  absent: () => ({ path: `/zones${below.replace('Z', 'other.test')}` }),
});

const onDemo = (below: string, body?: object): HowToCall => ({
  own: ({ label }) => ({ path: `/demos/${label}${below}`, ...(body === undefined ? {} : { body }) }),
  absent: () => ({ path: `/demos/none${below}`, ...(body === undefined ? {} : { body }) }),
});
const onDemos = (body?: object): HowToCall => {
  const filled = () => ({ path: '/demos', ...(body === undefined ? {} : { body }) });
  return { own: filled, absent: filled };
};

const howToCall: Record<DnsOperationId, HowToCall> = {
  listZones: zoneOnly(''),
  getZone: zoneOnly('/Z'),
  listRrsets: zoneOnly('/Z/rrsets'),
  createRrset: {
    own: ({ name }) => ({ path: `/zones/${ZONE}/rrsets`, body: { name: `new.${name}`, type: 'A', records } }),
    absent: () => ({ path: `/zones/${ZONE}/rrsets`, body: { name: 'none.acme', type: 'A', records } }),
  },
  getRrset: onSet(''),
  updateRrset: onSet('', { labels: { env: 'prod' } }),
  deleteRrset: onSet(''),
  setRecords: onSet('/actions/set_records', { records }),
  addRecords: onSet('/actions/add_records', { records }),
  removeRecords: onSet('/actions/remove_records', { records: [{ value: '192.0.2.1' }] }),
  changeTtl: onSet('/actions/change_ttl', { ttl: 600 }),
  listActions: onActions((id) => `/actions?id=${id}`),
  getAction: onActions((id) => `/actions/${id}`),
  listZoneActions: onActions((id) => `/zones/actions?id=${id}`),
  listActionsOfZone: onActions((id) => `/zones/${ZONE}/actions?id=${id}`),
  getZoneAction: onActions((id) => `/zones/actions/${id}`),
  getActionOfZone: onActions((id) => `/zones/${ZONE}/actions/${id}`),
  getToken: { own: () => ({ path: '/token' }), absent: () => ({ path: '/token' }) },
  createDemo: onDemos({}),
  listDemos: onDemos(),
  getDemo: onDemo(''),
  deleteDemo: onDemo(''),
  extendDemo: onDemo('/actions/extend', { ttl: 600 }),
};

let gateway: TestGateway;
let calls = 0;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

/** A set of acme with its finished creation, and a demo. */
async function makeOwn(): Promise<Own> {
  calls += 1;
  const name = `own-${calls}.acme`;
  const body = { name, type: 'A', records: [{ value: '192.0.2.1' }] };
  const created = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body });
  expect(created.status).toBe(201);
  return { name, actionId: created.json.action.id, label: await theDemo() };
}

/** Reuses a live demo, because acme may have at most ten. */
async function theDemo(): Promise<string> {
  const { json } = await gateway.call('GET', '/demos');
  return json.demos[0]?.label ?? (await makeDemo(gateway, { name: `acme ${calls}` })).label;
}

/** Checks an answer against the documented shape of its route. */
function checkShape({ answer: shape }: DnsRoute, answer: Answer): void {
  if (shape === null) expect(answer.text).toBe('');
  else checkDnsAnswer[shape](answer.json);
}

function send(route: DnsRoute, { path, body }: Filled, token: string | null): Promise<Answer> {
  return gateway.call(route.method.toUpperCase(), path, { token, ...(body === undefined ? {} : { body }) });
}

describe.each(dnsRoutes.map((route) => [route.operationId, route as DnsRoute] as const))('%s', (operationId, route) => {
  const how = howToCall[operationId];

  it('is covered by this test', () => {
    expect(how).toBeDefined();
  });

  it('reveals nothing without a token', async () => {
    const own = await makeOwn();

    const answer = await expectRefusal(gateway, () => send(route, how.own(own), null), 401, 'unauthorized');

    const elsewhere = await gateway.call('GET', '/no/such/path', { token: null });
    // Where a course code is accepted too, the refusal says so. Otherwise no path reveals whether it exists.
    if (route.tokenless === undefined) expect(answer.text).toBe(elsewhere.text);
    expect((await send(route, how.absent(own), null)).text).toBe(answer.text);
  });

  it.each(['revoked', 'expired', 'unknown'])('reveals nothing to a token that is %s', async (why) => {
    const own = await makeOwn();
    const token = await uselessToken(why);

    await expectRefusal(gateway, () => send(route, how.own(own), token), 401, 'unauthorized');
  });

  it(route.anyScope ? 'serves any valid token' : 'is forbidden to a token without the scope dns', async () => {
    const own = await makeOwn();
    const team = await gateway.createTeam(`scoped-${own.actionId}`);
    const { token } = await gateway.issueToken(team, { scopes: ['clusters'] });
    const ask = () => send(route, how.own(own), token);

    if (route.anyScope) checkShape(route, await ask());
    else await expectRefusal(gateway, ask, 403, 'forbidden');
  });

  it('answers another team like for a resource that does not exist', async () => {
    const stranger = dnsStrangerVerdictOf(route);
    const own = await makeOwn();
    const { token } = gateway.globex;
    const ask = () => send(route, how.own(own), token);
    const absent = await send(route, how.absent(own), token);

    if (stranger === 'hidden' || stranger === 'forbidden') {
      const [status, code] = stranger === 'hidden' ? [404, 'not_found'] : [403, 'forbidden'];
      const answer = await expectRefusal(gateway, ask, status as number, code as string);
      expect(answer.text).toBe(absent.text);
    } else {
      const before = gateway.upstreamCalls();
      const answer = await ask();
      expect([answer.status, gateway.upstreamCalls()]).toEqual([route.status, before]);
      checkShape(route, answer);
      expect(answer.text).not.toContain('acme');
      expect(answer.text).not.toContain(String(own.actionId));
    }
  });

  it('serves the owner', async () => {
    const own = await makeOwn();

    const answer = await send(route, how.own(own), gateway.acme.token);

    expect([answer.status, answer.text]).toEqual([route.status, expect.anything()]);
    checkShape(route, answer);
  });

  it('refuses every other method, and names the allowed ones', async () => {
    const own = await makeOwn();
    const methods = dnsRoutes.filter(({ path }) => path === route.path).map(({ method }) => method.toUpperCase());
    const served = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const others = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'].filter((m) => !served.includes(m));

    for (const method of others) {
      const path = how.own(own).path;
      const answer = await expectRefusal(gateway, () => gateway.call(method, path), 405, 'method_not_allowed');
      expect(answer.headers.get('allow')).toBe(served.join(', '));
    }
  });
});

it('every GET route answers HEAD with the same headers and no body', async () => {
  const own = await makeOwn();
  await waitFor('the end of the action', async () => {
    const { json } = await gateway.call('GET', `/actions/${own.actionId}`);
    return json.action.status === 'success';
  });
  for (const route of dnsRoutes.filter(({ method }) => method === 'get') as DnsRoute[]) {
    const { path } = howToCall[route.operationId as DnsOperationId].own(own);

    const [head, get] = [await gateway.call('HEAD', path), await gateway.call('GET', path)];

    expect([route.path, head.status, head.text]).toEqual([route.path, 200, '']);
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    expect(head.headers.get('content-type')).toBe('application/json; charset=utf-8');
  }
});

it('no error reveals whether a name of another team exists', async () => {
  const own = await makeOwn();
  const { token } = gateway.globex;
  const bodies = new Set<string>();
  for (const name of [own.name, 'none.acme', 'acme', 'hooli', 'a.b.c.hooli']) {
    const answer = await gateway.call('GET', setPath(name), { token });
    expectError(answer, 404, 'not_found');
    bodies.add(answer.text);
  }
  expect(bodies.size).toBe(1);
});

async function uselessToken(why: string): Promise<string> {
  if (why === 'unknown') return `${gateway.acme.token.slice(0, -1)}${gateway.acme.token.endsWith('a') ? 'b' : 'a'}`;
  const { token, tokenId } = await gateway.issueToken(gateway.acme);
  const column = why === 'revoked' ? 'revoked_at' : 'expires_at';
  await gateway.pool.query(`UPDATE dns_token SET ${column} = now() - interval '1 second' WHERE id = $1`, [tokenId]);
  return token;
}
