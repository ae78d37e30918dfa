import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestCloud, type TestCloud } from './start-test-cloud.js';

const PROJECT = 'p'.repeat(64);
const SAME_PROJECT = 's'.repeat(64);
const OTHER_PROJECT = 'o'.repeat(64);

let dataDir: string;
let cloud: TestCloud;
const start = () => startTestCloud({ dataDir, projectTokens: [PROJECT, OTHER_PROJECT], actionMs: 60_000 });
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
  cloud = await start();
});
afterEach(async () => {
  await cloud.close();
  rmSync(dataDir, { recursive: true });
});

const call = (method: string, path: string, body?: unknown, token = PROJECT) =>
  cloud.call(method, path, body, { Authorization: `Bearer ${token}` });
const rebuild = (body: unknown = { image: 'ubuntu-24.04', user_data: '#cloud-config' }) =>
  call('POST', '/servers/4711/actions/rebuild', body);

describe('a server', () => {
  it('is visible with every token of its project only', async () => {
    cloud.admin.addServer(PROJECT, { name: 'web' });
    cloud.admin.addProjectToken(SAME_PROJECT, { sameProjectAs: PROJECT });

    expect((await call('GET', '/servers/4711')).body.server).toMatchObject({
      id: 4711,
      name: 'web',
      status: 'running',
    });
    expect((await call('GET', '/servers', undefined, SAME_PROJECT)).body.servers).toHaveLength(1);
    expect((await call('GET', '/servers/4711', undefined, OTHER_PROJECT)).body.error.code).toBe('not_found');
    expect((await call('GET', '/servers', undefined, OTHER_PROJECT)).body.servers).toEqual([]);
  });

  it('gets all its labels replaced by a PUT', async () => {
    cloud.admin.addServer(PROJECT, { labels: { a: '1', b: '2' } });

    const put = await call('PUT', '/servers/4711', { labels: { b: '3' } });

    expect(put.body.server.labels).toEqual({ b: '3' });
    expect((await call('PUT', '/servers/4711', { labels: { 'not a key': 'x' } })).status).toBe(422);
  });

  it('cannot be changed with a read-only token', async () => {
    cloud.admin.addServer(PROJECT);
    cloud.admin.addProjectToken(SAME_PROJECT, { sameProjectAs: PROJECT, readOnly: true });

    const answer = await call('POST', '/servers/4711/actions/rebuild', { image: 'ubuntu-24.04' }, SAME_PROJECT);

    expect([answer.status, answer.body.error.code]).toEqual([401, 'token_readonly']);
    expect(cloud.admin.servers()[0]?.rebuilds).toBe(0);
  });

  it('survives a restart with its changes', async () => {
    cloud.admin.addServer(PROJECT, { labels: { a: '1' } });
    await rebuild();
    const [before, actions] = [cloud.admin.servers(), (await call('GET', '/servers/4711/actions')).body];
    await cloud.close();

    cloud = await start();

    expect(cloud.admin.servers()).toEqual(before);
    expect((await call('GET', '/servers/4711/actions')).body).toEqual(actions);
  });

  it('that was deleted or powered off keeps that state', async () => {
    cloud.admin.addServer(PROJECT);
    await call('POST', '/servers/4711/actions/poweroff');
    cloud.admin.advanceClock(60_000);
    await call('DELETE', '/servers/4711');

    expect(cloud.admin.servers()[0]).toMatchObject({ powerOffs: 1, deletedBy: 'api' });
    expect((await call('GET', '/servers/4711')).status).toBe(404);
  });
});

describe('a rebuild', () => {
  it('locks the server until its action ends, and only then shows the image', async () => {
    cloud.admin.addServer(PROJECT, { image: 'debian-12' });

    const { status, body } = await rebuild();

    expect([status, body.action.status, body.root_password]).toEqual([201, 'running', null]);
    const during = (await call('GET', '/servers/4711')).body.server;
    expect([during.locked, during.status, during.image.name]).toEqual([true, 'rebuilding', 'debian-12']);
    expect((await rebuild()).body.error.code).toBe('locked');
    cloud.admin.advanceClock(60_000);
    const after = (await call('GET', '/servers/4711')).body.server;
    expect([after.locked, after.status, after.image.name]).toEqual([false, 'running', 'ubuntu-24.04']);
    expect((await call('GET', `/actions/${body.action.id}`)).body.action).toMatchObject({ status: 'success' });
  });

  it('erases the server again with each request after its end', async () => {
    cloud.admin.addServer(PROJECT);
    await rebuild();
    cloud.admin.advanceClock(60_000);
    await rebuild({ image: 'ubuntu-24.04' });

    expect(cloud.admin.servers()[0]).toMatchObject({ rebuilds: 2, userData: '#cloud-config' });
    const { actions } = (await call('GET', '/servers/4711/actions?sort=id:desc')).body;
    expect(actions.map(({ command }: { command: string }) => command)).toEqual(['rebuild_server', 'rebuild_server']);
    expect(actions[0].id).toBeGreaterThan(actions[1].id);
  });

  it.each<[string, object, unknown, number, string]>([
    ['is protected', { protection: { delete: true, rebuild: true } }, undefined, 423, 'protected'],
    ['is locked', { locked: true }, undefined, 423, 'locked'],
    ['has a small disk', { diskGb: 4 }, undefined, 422, 'invalid_input'],
    ['has another architecture than the image', { architecture: 'arm' }, { image: 161_547_269 }, 422, 'invalid_input'],
    ['is to have an unknown image', {}, { image: 'templeos' }, 404, 'not_found'],
  ])('is refused while the server %s', async (_what, options, body, status, code) => {
    cloud.admin.addServer(PROJECT, options);

    const answer = await rebuild(body);

    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(cloud.admin.servers()[0]?.rebuilds).toBe(0);
  });

  it('returns a password for a server without SSH keys', async () => {
    cloud.admin.addServer(PROJECT, { hasSshKeys: false });

    expect((await rebuild()).body.root_password).toMatch(/^\w{24}$/);
  });

  it('can be made to fail', async () => {
    cloud.admin.addServer(PROJECT);
    cloud.admin.addFaults({
      match: { method: 'POST', path: '/v1/servers/4711/actions/rebuild' },
      effect: { actionError: { code: 'action_failed', message: 'no' } },
    });
    const { body } = await rebuild();
    cloud.admin.advanceClock(60_000);

    const { action } = (await call('GET', `/actions/${body.action.id}`)).body;
    expect(action).toMatchObject({ status: 'error', error: { code: 'action_failed' } });
  });
});

describe('images', () => {
  it('exist once per architecture under one name', async () => {
    const path = '/images?type=system&name=ubuntu-24.04&architecture=arm&status=available';

    const { images } = (await call('GET', path)).body;

    expect(images).toEqual([expect.objectContaining({ name: 'ubuntu-24.04', architecture: 'arm', disk_size: 5 })]);
  });
});
