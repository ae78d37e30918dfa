import { closedUrl, type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { connectProjects, type ProjectClient, type ProjectOutcome } from '../src/index.js';
import { aBaseUrl, anError, aToken } from './a-client.js';
import { interceptRequests } from './intercept-requests.js';

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
      },
    });
  });

  it('report whether a server has one of the values of a label', async () => {
    const query = { label_selector: 'mcm.gardener.cloud/cluster in (one,two)', per_page: '1' };
    const ask = () => within((project) => project.hasServerWith('mcm.gardener.cloud/cluster', ['one', 'two']));

    provider()
      .get('/servers')
      .query(query)
      .reply(200, { servers: [server] }, { date });
    expect(await ask()).toMatchObject({ kind: 'ok', value: true });
    provider().get('/servers').query(query).reply(200, { servers: [] }, { date });
    expect(await ask()).toMatchObject({ kind: 'ok', value: false });
    provider().get('/servers').query(query).reply(200, { nothing: 'known' }, { date });
    expect((await ask()).kind).toBe('uncertain');
  });

  it('find the image of an architecture, or null', async () => {
    const query = { type: 'system', status: 'available', name: 'ubuntu-24.04', architecture: 'arm' };
    const images = [
      { id: 1, name: 'ubuntu-24.04', architecture: 'x86', disk_size: 5 },
      { id: 2, name: 'ubuntu-24.04', architecture: 'arm', disk_size: 5 },
    ];
    provider().get('/images').query(query).reply(200, { images }, { date });
    provider()
      .get('/images')
      .query(query)
      .reply(200, { images: [images[0]] }, { date });
    const find = () => within((project) => project.findSystemImage('ubuntu-24.04', 'arm64'));

    expect(await find()).toMatchObject({ kind: 'ok', value: { id: 2, diskGb: 5 } });
    expect(await find()).toMatchObject({ kind: 'ok', value: null });
  });

  it('reject an answer whose list of actions is not a list', async () => {
    const path = '/servers/4711/actions?sort=id:desc&per_page=50';
    const list = () => within((project) => project.listServerActions(4711));
    provider()
      .get(path)
      .reply(200, { actions: [action] }, { date });
    expect(await list()).toMatchObject({ kind: 'ok', value: [{ id: 99, startedAt: new Date(action.started) }] });

    for (const body of [{}, { actions: [{ ...action, started: null }] }, { actions: [null] }]) {
      provider().get(path).reply(200, body, { date });
      expect((await list()).kind).toBe('uncertain');
    }
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

  it.each([
    ['an hour', { 'RateLimit-Reset': String(Date.parse(date) / 1_000 + 3_600) }, 60_000],
    ['a time that is over', { 'RateLimit-Reset': '1' }, 1_000],
    ['nothing', {}, 1_000],
    ['a wait', { 'Retry-After': '7' }, 7_000],
  ])('with %s waits no longer than necessary', async (_what, headers, retryAfterMs) => {
    provider()
      .get('/servers/4711')
      .reply(429, anError('rate_limit_exceeded'), headers as Record<string, string>);
    const now = () => Date.parse(date);
    const projects = connectProjects({ baseUrl: aBaseUrl, timeoutMs: 1_000, now, random: () => 0 });

    expect(await projects.within(aToken, (project) => project.readServer(4711))).toEqual({
      kind: 'throttled',
      retryAfterMs,
    });
  });
});
