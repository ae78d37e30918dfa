import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FaultEffect } from '../../src/index.js';
import { aShoot } from './a-shoot.js';
import { SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden({ createMs: 60_000 });
});
afterEach(() => garden.cloud.admin.clearFaults());
afterAll(() => garden.stop());

const exists = async (name: string) => (await garden.call('GET', `${SHOOTS}/${name}`)).status === 200;
const inject = (effect: FaultEffect, method = 'APPLY') =>
  garden.cloud.admin.addFaults({ match: { api: 'garden', method, path: '/shoots' }, effect });

describe('an injected fault', () => {
  it.each([
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [409, 'Conflict'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
    [504, 'Timeout'],
  ])('of status %p is a Status as an API server sends it', async (status, reason) => {
    inject({ status });

    const answer = await garden.apply(aShoot({ name: `s${status}` }));

    expect([answer.status, answer.body]).toEqual([
      status,
      expect.objectContaining({ kind: 'Status', status: 'Failure', code: status, reason }),
    ]);
    expect(await exists(`s${status}`)).toBe(false);
  });

  it('can send a Retry-After', async () => {
    inject({ status: 429, retryAfter: 7 });

    const { headers, body } = await garden.apply(aShoot({ name: 'later' }));

    expect([headers['retry-after'], body.details]).toEqual(['7', { retryAfterSeconds: 7 }]);
  });

  it.each<[FaultEffect, string, boolean]>([
    [{ reset: 'before' }, 'before', false],
    [{ reset: 'after' }, 'after', true],
    [{ truncate: true }, 'half', true],
  ])('%j breaks the connection', async (effect, name, isPerformed) => {
    inject(effect);

    await expect(garden.apply(aShoot({ name }))).rejects.toThrow();

    expect(await exists(name)).toBe(isPerformed);
  });

  it('can perform the write and then answer 504', async () => {
    inject({ status: 504, perform: true });

    const { status } = await garden.apply(aShoot({ name: 'unsure' }));

    expect([status, await exists('unsure')]).toEqual([504, true]);
  });

  it('can be an invalid body', async () => {
    inject({ status: 200, body: '<html>', contentType: 'text/html' });

    const { text, headers } = await garden.apply(aShoot({ name: 'garbage' }));

    expect([text, headers['content-type']]).toEqual(['<html>', 'text/html']);
  });

  it('with a status ends a watch before its first event', async () => {
    garden.cloud.admin.addFaults({
      match: { api: 'garden', method: 'WATCH', path: '/shoots' },
      effect: { status: 504, perform: true },
    });
    const { body } = await garden.call('GET', SHOOTS);
    const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

    garden.cloud.admin.garden.dropWatches();

    await stream.ended;
    expect([stream.status, stream.events]).toEqual([200, []]);
    expect((await garden.call('GET', SHOOTS)).status).toBe(200);
  });

  it('can end a watch in the middle of its first event', async () => {
    inject({ truncate: true }, 'WATCH');
    await garden.create(aShoot({ name: 'seen' }));

    const stream = await garden.watch(`${SHOOTS}?watch=1`);
    await stream.ended;

    expect([stream.status, stream.events]).toEqual([200, []]);
  });

  it('for one API does not affect the others', async () => {
    garden.cloud.admin.addFaults({ match: { api: 'garden' }, times: null, effect: { status: 500 } });

    const zones = await garden.cloud.call('GET', '/zones');
    const shoots = await garden.call('GET', SHOOTS);

    expect([zones.status, shoots.status]).toEqual([200, 500]);
  });
});

describe('the call counts', () => {
  it('are separate for verbs and routes', async () => {
    garden.cloud.admin.resetCalls();
    await garden.call('GET', SHOOTS);
    await garden.call('GET', `${SHOOTS}/nothing`);
    await garden.apply(aShoot({ name: 'counted' }));
    await garden.patch('counted', {});
    const stream = await garden.watch(`${SHOOTS}?watch=true`);
    stream.stop();
    await garden.call('POST', `${SHOOTS}/counted/adminkubeconfig`, {});

    const route = '/apis/core.gardener.cloud/v1beta1/namespaces/:namespace/shoots';
    expect(garden.cloud.admin.calls().byRoute).toEqual({
      [`GET ${route}`]: 1,
      [`GET ${route}/:name`]: 1,
      [`APPLY ${route}/:name`]: 1,
      [`PATCH ${route}/:name`]: 1,
      [`WATCH ${route}`]: 1,
      [`POST ${route}/:name/adminkubeconfig`]: 1,
    });
  });
});

describe('a caller', () => {
  it('without a valid token gets 401', async () => {
    const { gardenKubeconfig } = garden.cloud;
    const { gardenClient } = await import('./garden-client.js');
    const stranger = gardenClient(gardenKubeconfig.replace(/token: .*/, 'token: wrong'));

    const { status, body } = await stranger.call('GET', SHOOTS);
    const version = await stranger.call('GET', '/version');
    stranger.close();

    expect([status, body.reason, version.status]).toEqual([401, 'Unauthorized', 200]);
  });
});
