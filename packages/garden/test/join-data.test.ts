import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { renderJoinUserData } from '../src/index.js';
import { base64 } from './a-certificate.js';
import { aShootName, aStatus } from './a-garden.js';
import { listing, type RunningShoot, saying, startShoot } from './a-shoot.js';

let shoot: RunningShoot;

beforeEach(async () => {
  shoot = await startShoot();
  shoot.routes['POST /api/v1/namespaces/kube-system/secrets'] = saying(201, { kind: 'Secret' });
  shoot.routes['GET /version'] = saying(200, { gitVersion: 'v1.33.7+abc', major: '1' });
});

afterEach(async () => {
  await shoot.close();
});

const image = 'registry.example.com/gardener/node-agent:v1.130.0';
const agent = { path: '/opt/bin/gardener-node-agent', content: { imageRef: { image, filePathInImage: '/a' } } };
const agentConfig = (kubernetesVersion: string) => ({
  path: '/var/lib/gardener-node-agent/config-v1.130.0.yaml',
  content: {
    inline: {
      encoding: 'b64',
      data: base64(stringify({ controllers: { operatingSystemConfig: { kubernetesVersion } } })),
    },
  },
});

function aConfig(files: object[] = [agent, agentConfig('1.34.2')]): string {
  const config = { apiVersion: 'extensions.gardener.cloud/v1alpha1', kind: 'OperatingSystemConfig', spec: { files } };
  return stringify(config);
}

function aSecret(pool: string, overrides: { metadata?: object; labels?: object; config?: string } = {}) {
  const labels = {
    'gardener.cloud/role': 'operating-system-config',
    'worker.gardener.cloud/pool': pool,
    ...overrides.labels,
  };
  return {
    metadata: {
      name: `gardener-node-agent-${pool}-0a1b2`,
      creationTimestamp: '2026-11-01T10:00:00Z',
      labels,
      ...overrides.metadata,
    },
    data: { 'osc.yaml': base64(overrides.config ?? aConfig()) },
  };
}

function hold(...secrets: object[]): void {
  shoot.routes['GET /api/v1/namespaces/kube-system/secrets'] = listing(secrets);
}

const join = (architecture: 'amd64' | 'arm64' = 'amd64') =>
  shoot.client.nodes.joinData(aShootName, { nodeName: 'web-1', architecture, tokenSeconds: 900 });
const created = () => shoot.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);
const text = (value: string) => Buffer.from(value, 'base64').toString();

describe('join data', () => {
  it('contains all that a server needs, and user data can be rendered from it', async () => {
    hold(aSecret('p1'));

    const data = await join();

    expect(data).toEqual({
      server: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      certificateAuthority: shoot.authority.ca,
      bootstrapToken: expect.stringMatching(/^[a-z0-9]{6}\.[a-z0-9]{16}$/),
      configSecretName: 'gardener-node-agent-p1-0a1b2',
      kubernetesVersion: '1.34.2',
      nodeAgentImage: image,
    });
    expect(renderJoinUserData(data, 'web-1')).toContain(image);
    expect(shoot.requests[0]?.query.get('labelSelector')).toBe('gardener.cloud/role=operating-system-config');
  });

  it('contains a token that the shoot knows, with the requested lifetime', async () => {
    hold(aSecret('p1'));
    const before = Date.now();

    const { bootstrapToken } = await join();

    const [{ type, metadata, data }] = created() as [
      { type: string; metadata: { name: string }; data: Record<string, string> },
    ];
    const [id = '', secret = ''] = bootstrapToken.split('.');
    expect(type).toBe('bootstrap.kubernetes.io/token');
    expect(metadata.name).toBe(`bootstrap-token-${id}`);
    expect([text(data['token-id'] ?? ''), text(data['token-secret'] ?? '')]).toEqual([id, secret]);
    expect(text(data.description ?? '')).toContain('web-1');
    const seconds = (Date.parse(text(data.expiration ?? '')) - before) / 1_000;
    expect(seconds).toBeGreaterThan(890);
    expect(seconds).toBeLessThan(910);
  });

  it('contains a new token each time', async () => {
    hold(aSecret('p1'));

    expect((await join()).bootstrapToken).not.toBe((await join()).bootstrapToken);
    expect(shoot.issued).toHaveLength(1);
  });

  it('is of the first worker pool with a config for the architecture', async () => {
    shoot.workers = [
      { name: 'p1', machine: { architecture: 'amd64' } },
      { name: 'p4', machine: { architecture: 'arm64' } },
      { name: 'p3', machine: { architecture: 'arm64' } },
      { name: 'p2', machine: {} },
    ];
    hold(aSecret('p2'), aSecret('p3'), { metadata: { name: 'other' } }, aSecret('gone'));

    expect((await join('arm64')).configSecretName).toBe('gardener-node-agent-p3-0a1b2');
    expect((await join('amd64')).configSecretName).toBe('gardener-node-agent-p2-0a1b2');
  });

  it('is that of the newest config while a pool is rolled, whatever page it is on', async () => {
    const old = Array.from({ length: 45 }, (_, n) => aSecret('p1', { metadata: { name: `old-${n}` } }));
    const labels = { 'worker.gardener.cloud/pool': 'p1' };
    hold(...old, aSecret('p1', { metadata: { name: 'new', creationTimestamp: '2026-11-02T10:00:00Z', labels } }));

    expect((await join()).configSecretName).toBe('new');
  });

  it.each([
    ['its label', { labels: { 'worker.gardener.cloud/kubernetes-version': '1.32.9' } }, '1.32.9'],
    ['the config of its node agent', {}, '1.34.2'],
    ['the shoot, when the config does not say', { config: aConfig([agent]) }, '1.33.7'],
    ['the shoot, when that cannot be read', { config: aConfig([agent, { ...agentConfig(''), content: 7 }]) }, '1.33.7'],
  ])('contains the version that %s states', async (_what, overrides, version) => {
    hold(aSecret('p1', overrides));

    expect((await join()).kubernetesVersion).toBe(version);
  });

  it.each([
    ['there is no pool of the architecture', () => hold(aSecret('p1')), 'arm64' as const],
    ['the pool has no config yet', () => hold(), 'amd64' as const],
    ['the config is empty', () => hold({ ...aSecret('p1'), data: {} }), 'amd64' as const],
  ])('is unavailable while %s, and no token is created', async (_what, prepare, architecture) => {
    prepare();

    await expect(join(architecture)).rejects.toMatchObject({ kind: 'not_found' });
    expect(created()).toEqual([]);
  });

  const anchors = 'a: &a [x, x]\nb: &b [*a, *a]\nspec: {files: [*b]}\n';
  const withImage = (named: string) => aConfig([{ ...agent, content: { imageRef: { image: named } } }]);
  it.each([
    ['is no YAML', '{{'],
    ['is a list', '[]'],
    ['has no node agent', aConfig([])],
    ['has a node agent that comes from nowhere', aConfig([{ path: agent.path, content: {} }])],
    ['grows when it is read', anchors],
    ['names what would run in a shell', withImage("a/b:v1'; curl evil.example; '")],
    ['names what is no image', withImage('--all')],
    ['names no version', aConfig([agent, agentConfig('latest')])],
  ])('is refused for a config that %s, without revealing it or creating a token', async (_what, config) => {
    hold(aSecret('p1', { config }));

    const error = await join().catch((failure: Error) => failure);

    expect(error).toMatchObject({ name: 'GardenError', kind: 'unusable' });
    expect(inspect(error)).not.toMatch(/evil|--all|latest|\*a/);
    expect(created()).toEqual([]);
  });

  it.each([
    ['list of configs', 'GET'],
    ['Secret of the token', 'POST'],
  ])('contains nothing of what the shoot says about the %s', async (_what, method) => {
    hold(aSecret('p1'));
    const quoting = aStatus(422, 'Invalid', 'cannot take "tOpSeCrEt"', {
      causes: [{ field: 'tOpSeCrEt', message: 'a' }],
    });
    shoot.routes[`${method} /api/v1/namespaces/kube-system/secrets`] = saying(422, quoting);

    const error = await join().catch((failure: Error) => failure);

    expect(error).toMatchObject({ kind: 'refused' });
    expect(inspect([error, shoot.logged], { depth: 9 })).not.toContain('tOpSeCrEt');
  });

  it('is uncertain when the answer about the token is lost: the next attempt creates another', async () => {
    hold(aSecret('p1'));
    const route = 'POST /api/v1/namespaces/kube-system/secrets';
    shoot.routes[route] = (_request, response) => response.destroy();
    await expect(join()).rejects.toMatchObject({ kind: 'uncertain' });

    shoot.routes[route] = saying(201, { kind: 'Secret' });
    await join();

    const ids = created().map(({ metadata }) => metadata.name);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('ending a join', () => {
  const secrets = '/api/v1/namespaces/kube-system/secrets';
  const tokens = ['bootstrap-token-abc123', 'bootstrap-token-def456'].map((name) => ({ metadata: { name } }));
  const end = () => shoot.client.nodes.endJoin(aShootName, 'web-1');
  const deleted = () => shoot.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path);

  it('deletes the tokens that were created for the node, and no others', async () => {
    hold(...tokens);
    shoot.routes[`DELETE ${secrets}/bootstrap-token-abc123`] = saying(200, { kind: 'Status' });
    shoot.routes[`DELETE ${secrets}/bootstrap-token-def456`] = saying(
      404,
      aStatus(404, 'NotFound', 'gone', { name: 'x', kind: 'secrets' }),
    );

    await end();

    expect(deleted()).toEqual([`${secrets}/bootstrap-token-abc123`, `${secrets}/bootstrap-token-def456`]);
    const asked = shoot.requests[0]?.query;
    expect([asked?.get('labelSelector'), asked?.get('fieldSelector')]).toEqual([
      'corral.dev/joins-as=web-1',
      'type=bootstrap.kubernetes.io/token',
    ]);
  });

  it('is incomplete while a token may still exist', async () => {
    hold(...tokens);
    shoot.routes[`DELETE ${secrets}/bootstrap-token-abc123`] = saying(403, aStatus(403, 'Forbidden', 'no'));

    await expect(end()).rejects.toMatchObject({ fromShoot: true });
  });
});
