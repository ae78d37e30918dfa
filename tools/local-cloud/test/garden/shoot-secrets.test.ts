import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { aWorker } from './a-shoot.js';
import { aToken, SECRETS, type ShootClient, shootClient } from './shoot-client.js';
import { startTestGarden, type TestGarden } from './start-test-garden.js';

const TOKENS = `${SECRETS}?fieldSelector=type=bootstrap.kubernetes.io/token`;

let garden: TestGarden;
let shoot: ShootClient;
beforeAll(async () => {
  garden = await startTestGarden();
  await garden.createReady({ name: 'web', workers: [aWorker(), aWorker({ name: 'pool-b' })] });
  shoot = await shootClient(garden, 'web');
});
afterAll(async () => {
  shoot.close();
  await garden.stop();
});
afterEach(async () => {
  garden.cloud.admin.clearFaults();
  const { body } = await shoot.call('GET', TOKENS);
  for (const { metadata } of body.items) await shoot.call('DELETE', `${SECRETS}/${metadata.name}`);
});

describe('the Secrets that node agents read', () => {
  it('exist once for each worker pool, under a name derived from it', async () => {
    const selector = encodeURIComponent('gardener.cloud/role=operating-system-config');
    const { body } = await shoot.call('GET', `${SECRETS}?labelSelector=${selector}`);

    expect(body.kind).toBe('SecretList');
    expect(body.items).toMatchObject(
      ['pool-a', 'pool-b'].map((pool) => ({
        metadata: {
          name: expect.stringMatching(`^gardener-node-agent-${pool}-[0-9a-f]{5}$`),
          labels: { 'worker.gardener.cloud/pool': pool },
        },
      })),
    );
  });

  it('state the image of the agent and the version to run', async () => {
    const { body } = await shoot.call('GET', `${SECRETS}?labelSelector=worker.gardener.cloud/pool=pool-a`);
    const { name } = body.items[0].metadata;
    const secret = (await shoot.call('GET', `${SECRETS}/${name}`)).body;
    const decoded = (text: string) => parse(Buffer.from(text, 'base64').toString('utf8'));
    const config = decoded(secret.data['osc.yaml']);

    expect(config.kind).toBe('OperatingSystemConfig');
    const file = (path: RegExp) => config.spec.files.find((each: { path: string }) => path.test(each.path)).content;
    expect(file(/^\/opt\/bin\/gardener-node-agent$/).imageRef).toEqual({
      image: expect.stringMatching(/node-agent:v1\.150\.0$/),
      filePathInImage: '/gardener-node-agent',
    });
    expect(decoded(file(/config-.*\.yaml$/).inline.data)).toMatchObject({
      kind: 'NodeAgentConfiguration',
      apiServer: { server: shoot.server },
      controllers: { operatingSystemConfig: { secretName: name, kubernetesVersion: '1.34.3' } },
    });
  });

  it('cannot be deleted, or read by viewers', async () => {
    const { body } = await shoot.call('GET', SECRETS);
    const viewer = await shootClient(garden, 'web', 'viewer');

    expect((await shoot.call('DELETE', `${SECRETS}/${body.items[0].metadata.name}`)).status).toBe(403);
    expect((await viewer.call('GET', SECRETS)).status).toBe(403);
    expect((await viewer.call('POST', SECRETS, aToken())).status).toBe(403);
    expect((await viewer.call('GET', '/api/v1/nodes')).status).toBe(200);
    viewer.close();
  });
});

describe('a bootstrap token', () => {
  it('is created, read, listed and deleted', async () => {
    const made = await shoot.call('POST', SECRETS, aToken());

    expect([made.status, made.body.type]).toEqual([201, 'bootstrap.kubernetes.io/token']);
    expect((await shoot.call('POST', SECRETS, aToken())).body).toMatchObject({ code: 409, reason: 'AlreadyExists' });
    const listed = await shoot.call('GET', TOKENS);
    expect(listed.body.items).toEqual([made.body]);
    const wrongUid = { preconditions: { uid: 'another' } };
    expect((await shoot.call('DELETE', `${SECRETS}/bootstrap-token-abcdef`, wrongUid)).status).toBe(409);
    expect((await shoot.call('DELETE', `${SECRETS}/bootstrap-token-abcdef`)).body.status).toBe('Success');
    expect((await shoot.call('GET', `${SECRETS}/bootstrap-token-abcdef`)).status).toBe(404);
  });

  it('is deleted when it expires by the clock of the cloud', async () => {
    await shoot.call('POST', SECRETS, aToken({}, 'expire'));
    expect((await shoot.call('GET', `${SECRETS}/bootstrap-token-expire`)).status).toBe(200);

    garden.cloud.admin.advanceClock(3_601_000);
    const later = await shootClient(garden, 'web');

    expect((await later.call('GET', `${SECRETS}/bootstrap-token-expire`)).status).toBe(404);
    later.close();
    garden.cloud.admin.advanceClock(-3_601_000);
  });

  it.each<[string, object, number, string]>([
    ['of another type', { ...aToken(), type: 'Opaque' }, 403, 'bootstrap.kubernetes.io/token'],
    ['of no type', { ...aToken(), type: undefined }, 403, 'bootstrap.kubernetes.io/token'],
    ['with an id of capitals', aToken({ 'token-id': 'ABCDEF' }), 422, 'must be a bootstrap token'],
    ['with a short secret', aToken({ 'token-secret': 'short' }), 422, 'must be a bootstrap token'],
    ['named after another id', aToken({ 'token-id': 'fedcba' }), 422, 'must be a bootstrap token'],
    ['that may sign', aToken({ 'usage-bootstrap-signing': 'true' }), 422, 'must be a bootstrap token'],
    ['that ends at no time', aToken({ expiration: 'tomorrow' }), 422, 'must be a bootstrap token'],
  ])('is refused %s', async (_what, secret, status, text) => {
    const { body } = await shoot.call('POST', SECRETS, secret);

    expect([body.code, body.message]).toEqual([status, expect.stringContaining(text)]);
    expect(body.message).not.toContain('short');
  });

  it('cannot be created in another namespace', async () => {
    const { metadata, ...token } = aToken();
    const elsewhere = { ...token, metadata: { name: metadata.name } };

    expect((await shoot.call('POST', '/api/v1/namespaces/default/secrets', elsewhere)).status).toBe(403);
    expect((await shoot.call('GET', '/api/v1/namespaces/default/secrets')).body.items).toEqual([]);
  });
});

describe('the API server of a Shoot', () => {
  it('lists the resources and verbs that it supports', async () => {
    const { resources } = (await shoot.call('GET', '/api/v1')).body;

    expect(
      resources.map(({ name, verbs }: { name: string; verbs: string[] }) => `${name}: ${verbs.join(' ')}`),
    ).toEqual([
      'nodes: delete get list patch',
      'pods: get list',
      'pods/eviction: create',
      'secrets: create delete get list',
    ]);
    expect((await shoot.call('DELETE', SECRETS)).status).toBe(405);
    expect((await shoot.call('GET', '/api/v1/services')).status).toBe(404);
  });

  it('counts calls by route, and fails on request', async () => {
    garden.cloud.admin.resetCalls();
    garden.cloud.admin.addFaults({ match: { api: 'shoot', method: 'POST' }, effect: { status: 503 } });

    expect((await shoot.call('POST', SECRETS, aToken())).body.reason).toBe('ServiceUnavailable');
    expect(garden.cloud.admin.calls().byRoute).toEqual({ 'shoot POST /api/v1/namespaces/:namespace/secrets': 1 });
  });
});
