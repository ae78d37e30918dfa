import { closedUrl, type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { connectProjects, type ProjectClient, type ProjectOutcome, readPrices, verifyToken } from '../src/index.js';
import { aBaseUrl, anError, aToken } from './a-client.js';
import { interceptRequests } from './intercept-requests.js';

describe('projects', () => {
  const date = 'Sat, 21 Nov 2026 12:00:00 GMT';
  const server = {
    id: 4711,
    name: 'web',
    status: 'running',
    locked: false,
    labels: { env: 'prod' },
    primary_disk_size: 40,
    server_type: { name: 'cax11', architecture: 'arm' },
    location: { name: 'hel1' },
    image: { id: 7 },
    iso: null,
    protection: { delete: false, rebuild: true },
    rescue_enabled: false,
    public_net: { ipv4: { id: 1, ip: '192.0.2.7' }, ipv6: { id: 2, ip: '2001:db8:7::/64' } },
  };
  const action = {
    id: 99,
    command: 'rebuild_server',
    status: 'running',
    progress: 30,
    started: '2026-11-21T11:59:58Z',
    error: null,
  };

  let upstream: RawServer | undefined;
  interceptRequests({ reachable: '127.0.0.1' });
  afterEach(async () => {
    await upstream?.close();
    upstream = undefined;
  });

  const provider = () => nock(aBaseUrl, { reqheaders: { authorization: `Bearer ${aToken}` } });
  const within = <T>(work: (project: ProjectClient) => Promise<T>, baseUrl = aBaseUrl): Promise<T> =>
    connectProjects({ baseUrl, timeoutMs: 1_000 }).within(aToken, work);

  describe('reads in a project', () => {
    it('describe a server in our terms, with the provider’s clock', async () => {
      provider().get('/servers/4711').reply(200, { server }, { date });

      expect(await within((project) => project.readServer(4711))).toEqual({
        kind: 'ok',
        at: new Date(date),
        value: {
          id: 4711,
          name: 'web',
          status: 'running',
          isLocked: false,
          serverType: 'cax11',
          architecture: 'arm64',
          location: 'hel1',
          labels: { env: 'prod' },
          imageId: 7,
          isRebuildProtected: true,
          isInRescue: false,
          hasIso: false,
          diskGb: 40,
          publicAddresses: ['192.0.2.7', '2001:db8:7::/64'],
        },
      });
    });

    it('report whether a server has one of the values of a label', async () => {
      const query = { label_selector: 'mcm.gardener.cloud/cluster in (one,two)', per_page: '1' };
      const ask = (answer: object) => {
        provider().get('/servers').query(query).reply(200, answer, { date });
        return within((project) => project.hasServerWith('mcm.gardener.cloud/cluster', ['one', 'two']));
      };

      expect(await ask({ servers: [server] })).toMatchObject({ kind: 'ok', value: true });
      expect(await ask({ servers: [] })).toMatchObject({ kind: 'ok', value: false });
      expect((await ask({ nothing: 'known' })).kind).toBe('uncertain');
    });

    it('list the servers without a label, and take half a list for none', async () => {
      const query = { label_selector: '!mcm.gardener.cloud/cluster', sort: 'name', per_page: '50' };
      const ask = (...servers: object[]) => {
        provider().get('/servers').query(query).reply(200, { servers }, { date });
        return within((project) => project.listServersWithout('mcm.gardener.cloud/cluster', 50));
      };

      expect(await ask(server)).toMatchObject({ kind: 'ok', value: [{ id: server.id, serverType: 'cax11' }] });
      expect((await ask(server, {})).kind).toBe('uncertain');
    });

    it('find the image of an architecture, or null', async () => {
      const query = { type: 'system', status: 'available', name: 'ubuntu-24.04', architecture: 'arm' };
      const images = [
        { id: 1, name: 'ubuntu-24.04', architecture: 'x86', disk_size: 5 },
        { id: 2, name: 'ubuntu-24.04', architecture: 'arm', disk_size: 5 },
      ];
      const findAmong = (images: object[]) => {
        provider().get('/images').query(query).reply(200, { images }, { date });
        return within((project) => project.findSystemImage('ubuntu-24.04', 'arm64'));
      };

      expect(await findAmong(images)).toMatchObject({ kind: 'ok', value: { id: 2, diskGb: 5 } });
      expect(await findAmong(images.slice(0, 1))).toMatchObject({ kind: 'ok', value: null });
    });

    it('reject the answer about another server as unusable', async () => {
      provider().get('/servers/4712').reply(200, { server }, { date });

      expect((await within((project) => project.readServer(4712))).kind).toBe('uncertain');
    });
  });

  describe('a rebuild', () => {
    const rebuild = (baseUrl?: string): Promise<ProjectOutcome<unknown>> =>
      within((project) => project.rebuild(4711, { imageId: 7, userData: '#cloud-config' }), baseUrl);

    it('always sends user data, and does not keep the password', async () => {
      provider()
        .post('/servers/4711/actions/rebuild', { image: 7, user_data: '#cloud-config' })
        .reply(201, { action, root_password: 'zCWbFhnu950dUTko5f40' }, { date });

      const outcome = await rebuild();

      expect(outcome).toMatchObject({ kind: 'ok', value: { id: 99, status: 'running', progress: 30 } });
      expect(JSON.stringify(outcome)).not.toContain('zCWbFhnu950dUTko5f40');
    });

    it.each<[number, string, object]>([
      [401, 'unauthorized', { kind: 'credentials_refused', status: 401, code: 'unauthorized' }],
      [401, 'token_readonly', { kind: 'credentials_refused', status: 401, code: 'token_readonly' }],
      [403, 'forbidden', { kind: 'credentials_refused', status: 403, code: 'forbidden' }],
      [403, 'maintenance', { kind: 'refused', status: 403, code: 'maintenance' }],
      [404, 'not_found', { kind: 'absent' }],
      [409, 'conflict', { kind: 'refused', status: 409, code: 'conflict' }],
      [422, 'invalid_input', { kind: 'refused', status: 422, code: 'invalid_input' }],
      [423, 'locked', { kind: 'refused', status: 423, code: 'locked' }],
      [423, 'protected', { kind: 'refused', status: 423, code: 'protected' }],
      [500, 'server_error', { kind: 'uncertain', reason: '500 server_error' }],
      [503, 'unavailable', { kind: 'uncertain', reason: '503 unavailable' }],
    ])('answered %i %s has that outcome', async (status, code, outcome) => {
      provider().post('/servers/4711/actions/rebuild').reply(status, anError(code), { date });

      expect(await rebuild()).toEqual(outcome);
    });

    it.each([
      ['a page of something on the way', 404, '<html>'],
      ['another shape', 401, '{"message":"no"}'],
      ['no body', 201, ''],
      ['an action that is none', 201, '{"action":{}}'],
    ])('is uncertain when the answer is %s', async (_what, status, body) => {
      provider().post('/servers/4711/actions/rebuild').reply(status, body, { date });

      expect((await rebuild()).kind).toBe('uncertain');
    });

    it('is uncertain when half the answer came, or none in time', async () => {
      upstream = await startRawServer((socket) => socket.end(rawAnswer('201 Created', '{"action":{}}').slice(0, -4)));
      expect((await rebuild(`${upstream.url}/v1`)).kind).toBe('uncertain');
      await upstream.close();
      upstream = await startRawServer(() => {});
      expect((await rebuild(`${upstream.url}/v1`)).kind).toBe('uncertain');
    });

    it('is certain not to have happened without a connection', async () => {
      expect((await rebuild(await closedUrl())).kind).toBe('unreached');
    });
  });

  describe('a project without budget', () => {
    it('is not called until the time that the provider states, and the others are', async () => {
      let tick = 0;
      const now = () => Date.parse(date);
      const projects = connectProjects({ baseUrl: aBaseUrl, timeoutMs: 1_000, now, tick: () => tick, random: () => 0 });
      const read = (token: string) => projects.within(token, (project) => project.readServer(4711));
      nock(aBaseUrl)
        .get('/servers/4711')
        .reply(429, anError('rate_limit_exceeded'), { 'RateLimit-Reset': String(Date.parse(date) / 1_000 + 20) })
        .get('/servers/4711')
        .times(2)
        .reply(200, { server }, { date });

      expect(await read(aToken)).toEqual({ kind: 'throttled', retryAfterMs: 20_000 });
      tick = 19_999;
      expect(await read(aToken)).toEqual({ kind: 'throttled', retryAfterMs: 1 });
      expect((await read('another'.repeat(8))).kind).toBe('ok');
      tick = 20_000;
      expect((await read(aToken)).kind).toBe('ok');
    });

    it.each<[string, Record<string, string>, number]>([
      ['an hour', { 'RateLimit-Reset': String(Date.parse(date) / 1_000 + 3_600) }, 60_000],
      ['a time that is over', { 'RateLimit-Reset': '1' }, 1_000],
      ['nothing', {}, 1_000],
      ['a wait', { 'Retry-After': '7' }, 7_000],
    ])('with %s waits no longer than necessary', async (_what, headers, retryAfterMs) => {
      provider().get('/servers/4711').reply(429, anError('rate_limit_exceeded'), headers);
      const now = () => Date.parse(date);
      const projects = connectProjects({ baseUrl: aBaseUrl, timeoutMs: 1_000, now, random: () => 0 });

      const outcome = await projects.within(aToken, (project) => project.readServer(4711));

      expect(outcome).toEqual({ kind: 'throttled', retryAfterMs });
    });
  });
});

describe('the price list', () => {
  interceptRequests();

  const read = () => readPrices({ baseUrl: aBaseUrl, token: aToken });
  function theProvider(status: number, body: string, headers: Record<string, string> = {}): void {
    const scope = nock(aBaseUrl, { reqheaders: { authorization: `Bearer ${aToken}` } });
    scope.get('/pricing').reply(status, body, headers);
  }
  const money = (net: unknown) => ({ net, gross: '9.99' });
  const at = (location: unknown, hourly: unknown, monthly: unknown) => ({
    location,
    included_traffic: 1,
    price_per_tb_traffic: money('1.0000'),
    price_hourly: money(hourly),
    price_monthly: money(monthly),
  });

  it('contains net prices of nodes, as the provider wrote them', async () => {
    const server_types = [
      { id: 1, name: 'cpx31', prices: [at('hel1', '0.0210000000', '13.1000'), at('fsn1', '0.021', '13.1')] },
      { id: 2, name: 'cx22', prices: [] },
    ];
    const primary_ips = [
      { type: 'ipv6', prices: [at('hel1', '0', '0')] },
      { type: 'ipv4', prices: [at('hel1', '0.0008', '0.5000')] },
    ];
    theProvider(200, JSON.stringify({ pricing: { currency: 'EUR', vat_rate: '19.0', server_types, primary_ips } }));

    expect(await read()).toEqual({
      kind: 'read',
      currency: 'EUR',
      prices: {
        serverTypes: {
          cpx31: { hel1: { hourly: '0.0210000000', monthly: '13.1000' }, fsn1: { hourly: '0.021', monthly: '13.1' } },
          cx22: {},
        },
        primaryIpv4: { hel1: { hourly: '0.0008', monthly: '0.5000' } },
      },
    });
  });

  it.each([
    ['a number', 0.02],
    ['an exponent', '2e-2'],
    ['a sign', '-1'],
    ['nothing', ''],
    ['no price', null],
  ])('omits a price that is %s, and keeps the others', async (_what, net) => {
    const prices = [at('hel1', net, '13.1'), at('fsn1', '0.021', '13.1')];
    theProvider(200, JSON.stringify({ pricing: { currency: 'EUR', server_types: [{ name: 'cpx31', prices }] } }));

    const reading = await read();

    expect(reading).toEqual({
      kind: 'read',
      currency: 'EUR',
      prices: { serverTypes: { cpx31: { fsn1: { hourly: '0.021', monthly: '13.1' } } }, primaryIpv4: {} },
    });
  });

  it.each<[string, number, string, Record<string, string>, object]>([
    ['a spent budget', 429, anError('rate_limit_exceeded'), { 'Retry-After': '7' }, { retryAfterMs: 7_000 }],
    ['a spent budget without a time', 429, '', {}, { kind: 'throttled', retryAfterMs: null }],
    ['a refused token', 401, anError('unauthorized'), {}, { kind: 'refused' }],
    ['a fault', 500, anError('service_error'), {}, { kind: 'unavailable', reason: 'status 500' }],
    ['a page', 200, '<html></html>', {}, { kind: 'unavailable', reason: 'an answer of another shape' }],
    ['no currency', 200, '{"pricing": {"currency": "euros"}}', {}, { kind: 'unavailable' }],
  ])('is unavailable after %s', async (_what, status, body, headers, reading) => {
    theProvider(status, body, headers);

    expect(await read()).toMatchObject(reading);
  });

  it('is unavailable without an answer', async () => {
    expect(await read()).toMatchObject({ kind: 'unavailable' });
  });
});

describe('tokens', () => {
  let upstream: RawServer | undefined;
  interceptRequests({ reachable: '127.0.0.1' });
  afterEach(async () => {
    await upstream?.close();
    upstream = undefined;
  });

  type Reply = readonly [status: number, body: string];
  const listed: Reply = [200, '{"placement_groups": [], "meta": {}}'];
  const made: Reply = [201, '{"placement_group": {"id": 71}, "action": null}'];
  const deleted: Reply = [204, ''];
  const unauthorized: Reply = [401, anError('unauthorized')];
  const readOnly: Reply = [401, anError('token_readonly')];

  const LEFT_OVERS = '/placement_groups?label_selector=corral.dev%2Fprobe';
  type Call = readonly [method: 'GET' | 'POST' | 'DELETE', path: string, reply: Reply];
  const list = (reply: Reply = listed): Call => ['GET', LEFT_OVERS, reply];
  const make = (reply: Reply = made): Call => ['POST', '/placement_groups', reply];
  const remove = (id: number, reply: Reply = deleted): Call => ['DELETE', `/placement_groups/${id}`, reply];

  /** The provider answers these calls, in this order where they are alike, and nothing beyond them. */
  function theProvider(...calls: readonly Call[]): nock.Scope {
    const scope = nock(aBaseUrl, { reqheaders: { authorization: `Bearer ${aToken}` } });
    for (const [method, path, [status, body]] of calls) scope.intercept(path, method).reply(status, body);
    return scope;
  }
  const verify = (timeoutMs = 3_000) => verifyToken({ baseUrl: aBaseUrl, token: aToken, timeoutMs });

  describe('a token', () => {
    it('is valid when it can list, create and delete, and leaves nothing behind', async () => {
      const bodies: unknown[] = [];
      const scope = theProvider(list(), remove(71));
      scope.post('/placement_groups', (body) => bodies.push(body) > 0).reply(...made);

      expect(await verify()).toBe('valid');
      expect(scope.isDone()).toBe(true);
      expect(bodies).toEqual([
        {
          name: expect.stringMatching(/^corral-probe-[0-9a-f]{12}$/),
          type: 'spread',
          labels: { 'corral.dev/probe': 'token' },
        },
      ]);
    });

    const forbidden: Reply = [403, anError('forbidden')];
    it.each<[string, readonly Call[], string]>([
      [
        'rejected when it is refused twice, and nothing is written',
        [list(unauthorized), list(unauthorized)],
        'rejected',
      ],
      ['not rejected when the provider then lists', [list(unauthorized), list(), make(), remove(71)], 'valid'],
      ['not rejected when the provider then has a fault', [list(unauthorized), list([500, anError('a')])], 'unknown'],
      ['read-only when two writes are refused as such', [list(), make(readOnly), make(readOnly)], 'read-only'],
      ['read-only when two writes are forbidden', [list(), make(forbidden), make(forbidden)], 'read-only'],
      ['not read-only when the provider then makes it', [list(), make(readOnly), make(), remove(71)], 'valid'],
      ['not read-only when the provider then has a fault', [list(), make(readOnly), make([503, ''])], 'unknown'],
      // Checked after authorization.
      [
        'valid when a write was refused for its size',
        [list(), make([403, anError('resource_limit_exceeded')])],
        'valid',
      ],
      ['valid when a write was refused for its name', [list(), make([422, anError('uniqueness_error')])], 'valid'],
      ['valid when a write was refused for its content', [list(), make([422, anError('invalid_input')])], 'valid'],
    ])('is %s', async (_what, calls, verdict) => {
      const scope = theProvider(...calls);

      expect(await verify()).toBe(verdict);
      expect(scope.isDone()).toBe(true);
    });

    it.each<[string, Reply]>([
      ['a refusal for too many requests', [429, anError('rate_limit_exceeded')]],
      ['a fault', [500, anError('service_error')]],
      ['maintenance', [503, '']],
      ['a page of something on the way', [200, '<html>Please sign in</html>']],
      ['JSON of another shape', [200, '{"servers": []}']],
      ['no body', [200, '']],
      ['a redirect', [302, '']],
      ['a refusal of another kind', forbidden],
    ])('stays unknown when a list is answered with %s, and no further request is sent', async (_what, reply) => {
      const scope = theProvider(list(reply), list(), make());

      expect(await verify()).toBe('unknown');
      expect(scope.pendingMocks()).toHaveLength(2);
    });

    it.each<[string, Reply]>([
      ['a fault', [500, anError('service_error')]],
      ['a wait', [403, anError('maintenance')]],
      ['a lock', [423, anError('locked')]],
    ])('stays unknown when a write is answered with %s, and no further request is sent', async (_what, reply) => {
      const scope = theProvider(list(), make(reply), make());

      expect(await verify()).toBe('unknown');
      expect(scope.pendingMocks()).toHaveLength(1);
    });

    it('stays unknown without a connection', async () => {
      expect(await verifyToken({ baseUrl: await closedUrl(), token: aToken })).toBe('unknown');
    });
  });

  describe('a probe that a crash left behind', () => {
    const leftOver: Reply = [200, '{"placement_groups": [{"id": 5}, {"id": 6}, {"name": "odd"}]}'];

    it('is deleted by the next verification', async () => {
      const scope = theProvider(list(leftOver), make(), remove(71), remove(5), remove(6));

      expect(await verify()).toBe('valid');
      expect(scope.isDone()).toBe(true);
    });

    it('does not affect the verdict when it cannot be deleted: the next verification finds it', async () => {
      theProvider(list(leftOver), make(), remove(71, [500, '']), remove(5, [404, anError('not_found')]), remove(6));

      expect(await verify()).toBe('valid');
    });
  });
});
