import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { anAuthority } from './a-certificate.js';
import { aClient, answerJson, aShootName, aStatus, startServer, type TestClient, type TestServer } from './a-garden.js';
import { aNode, listing, type RunningShoot, saying, startShoot } from './a-shoot.js';

const { ca: pem } = await anAuthority('shoot');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the certificate authority of a shoot', () => {
  const at = `/api/v1/namespaces/${aShootName.namespace}`;
  const inMap = `${at}/configmaps/${aShootName.name}.ca-cluster`;
  const inSecret = `${at}/secrets/${aShootName.name}.ca-cluster`;

  let kept: Record<string, { status: number; body: object }>;
  let server: TestServer;
  let garden: TestClient;
  beforeEach(async () => {
    kept = {};
    server = await startServer(({ path }, response) => {
      const name = path.split('/').at(-1) ?? '';
      const absent = { status: 404, body: aStatus(404, 'NotFound', `"${name}" not found`, { name }) };
      const { status, body } = kept[path] ?? absent;
      answerJson(response, status, body);
    });
    garden = aClient(server.url);
  });
  afterEach(async () => {
    await garden.client.close();
    await server.close();
  });
  const read = () => garden.client.readAuthority(aShootName);
  const paths = () => server.requests.map(({ path }) => path);

  it('is read from its ConfigMap only', async () => {
    kept[inMap] = { status: 200, body: { data: { 'ca.crt': pem } } };

    expect(await read()).toBe(pem);
    expect(paths()).toEqual([inMap]);
  });

  it('is read from the Secret in older gardens', async () => {
    kept[inSecret] = { status: 200, body: { data: { 'ca.crt': base64(pem) } } };

    expect(await read()).toBe(pem);
    expect(paths()).toEqual([inMap, inSecret]);
  });

  it('is two certificates during a rotation', async () => {
    kept[inMap] = { status: 200, body: { data: { 'ca.crt': `${pem}${pem}` } } };

    expect(await read()).toBe(`${pem}${pem}`);
  });

  it('is null before it exists', async () => {
    expect(await read()).toBeNull();
  });

  it.each([
    ['no such entry', {}],
    ['an empty one', { 'ca.crt': '' }],
    ['other words', { 'ca.crt': 'no certificate' }],
    ['a private key', { 'ca.crt': pem.replaceAll('CERTIFICATE', 'PRIVATE KEY') }],
    ['more than anybody needs', { 'ca.crt': pem.repeat(100) }],
  ])('is null if the ConfigMap has %s', async (_what, data) => {
    kept[inMap] = { status: 200, body: { data } };

    expect(await read()).toBeNull();
  });

  it('is not read from elsewhere when access is denied', async () => {
    kept['/readyz'] = { status: 200, body: {} };
    kept[inMap] = { status: 403, body: aStatus(403, 'Forbidden', 'configmaps "x" is forbidden: User "u" cannot get') };

    await expect(read()).rejects.toMatchObject({ kind: 'rbac' });
    expect(paths()).not.toContain(inSecret);
  });
});

describe('the nodes of a shoot', () => {
  const nodesAt = 'GET /api/v1/nodes';
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, n) => aNode({ metadata: { name: `node-${n}`, uid: `uid-${n}` } }));

  let shoot: RunningShoot;
  beforeEach(async () => {
    shoot = await startShoot();
  });
  afterEach(() => shoot.close());

  it('are listed page by page, with their status', async () => {
    const ill = aNode({ metadata: { name: 'ill' }, conditions: [{ type: 'Ready', status: 'Unknown' }] });
    shoot.routes[nodesAt] = listing([...numbered(100), ill]);

    const nodes = await shoot.client.listNodes(aShootName);

    expect(nodes).toHaveLength(101);
    expect(nodes.filter(({ isReady }) => !isReady)).toMatchObject([{ name: 'ill', labels: { a: 'b' } }]);
  });

  it('are read with a viewer kubeconfig', async () => {
    shoot.routes[nodesAt] = listing([]);

    await shoot.client.listNodes(aShootName);
    await shoot.client.listNodes(aShootName);

    expect(shoot.calls.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual([
      'create shoots/viewerkubeconfig',
      'list shoot nodes',
      'list shoot nodes',
    ]);
  });

  it('are not read without end when pages never end', async () => {
    shoot.routes[nodesAt] = saying(200, { metadata: { continue: 'more' }, items: [] });

    await expect(shoot.client.listNodes(aShootName)).rejects.toMatchObject({ kind: 'unusable' });
    expect(shoot.requests).toHaveLength(20);
  });

  it('are not read when one answer exceeds the maximum size', async () => {
    shoot.routes[nodesAt] = saying(200, {
      items: [aNode({ metadata: { annotations: { a: 'x'.repeat(9_000_000) } } })],
    });

    await expect(shoot.client.listNodes(aShootName)).rejects.toMatchObject({ kind: 'unusable' });
  });

  it('are unknown while the shoot has no address', async () => {
    shoot.garden = (_request, response) => answerJson(response, 422, aStatus(422, 'Invalid', 'no suitable address'));

    await expect(shoot.client.listNodes(aShootName)).rejects.toMatchObject({ kind: 'unreachable' });
  });
});
