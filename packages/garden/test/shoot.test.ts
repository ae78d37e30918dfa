import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { stringify } from 'yaml';
import { renderJoinUserData } from '../src/index.js';
import { podToEvict } from '../src/nodes/evict-pods.js';
import { anAuthority, base64 } from './a-certificate.js';
import { aKubeconfig, answerJson, aShootName, aStatus } from './a-garden.js';
import {
  aNode,
  asAnswered,
  authority,
  listing,
  nodeAt,
  type RunningShoot,
  type ShootAnswer,
  saying,
  startShoot,
} from './a-shoot.js';

let shoot: RunningShoot;

beforeEach(async () => {
  shoot = await startShoot();
});
afterEach(async () => {
  jest.useRealTimers();
  await shoot.close();
});

describe('nodes', () => {
  describe('a node', () => {
    it('is read with its fields', async () => {
      shoot.routes[`GET ${nodeAt}`] = saying(200, aNode());

      expect(await shoot.client.nodes.readNode(aShootName, 'web-1')).toEqual({
        name: 'web-1',
        uid: 'uid-web-1',
        isReady: true,
        isUnschedulable: false,
        labels: { a: 'b' },
        annotations: { c: 'd' },
        externalIps: [],
      });
    });

    it.each([
      ['not ready if its condition is False', { conditions: [{ type: 'Ready', status: 'False' }] }, { isReady: false }],
      ['not ready if it has no such condition', { conditions: [] }, { isReady: false }],
      ['cordoned', { spec: { unschedulable: true } }, { isUnschedulable: true }],
    ])('is reported as %s', async (_what, overrides, expected) => {
      shoot.routes[`GET ${nodeAt}`] = saying(200, aNode(overrides));

      expect(await shoot.client.nodes.readNode(aShootName, 'web-1')).toMatchObject(expected);
    });

    it('that is absent is null, counts as deleted, and cannot be marked', async () => {
      const { nodes } = shoot.client;

      expect(await nodes.readNode(aShootName, 'web-1')).toBeNull();
      await nodes.deleteNode(aShootName, 'web-1');
      await expect(nodes.patchNode(aShootName, 'web-1', {})).rejects.toMatchObject({ kind: 'not_found' });
    });

    it('gets only the given labels and annotations', async () => {
      shoot.routes[`PATCH ${nodeAt}`] = saying(200, aNode());
      const marks = { labels: { pool: 'blue' }, annotations: { note: '1' }, isUnschedulable: true };

      await shoot.client.nodes.patchNode(aShootName, 'web-1', marks);
      await shoot.client.nodes.patchNode(aShootName, 'web-1', { isUnschedulable: false });

      expect(shoot.requests.map(({ type, body }) => [type, body])).toEqual([
        [
          'application/merge-patch+json',
          { metadata: { labels: { pool: 'blue' }, annotations: { note: '1' } }, spec: { unschedulable: true } },
        ],
        ['application/merge-patch+json', { metadata: {}, spec: { unschedulable: false } }],
      ]);
    });

    it.each(['', '..'])('cannot have the name %j, which would address something else', async (name) => {
      await expect(shoot.client.nodes.readNode(aShootName, name)).rejects.toThrow(TypeError);
      expect(shoot.requests).toEqual([]);
    });
  });

  describe('a shoot with problems', () => {
    it.each([
      ['a list', saying(200, []), 'unusable', 'unusable'],
      ['a node without a name', saying(200, { metadata: {} }), 'unusable', null],
      ['503', saying(503, aStatus(503, 'ServiceUnavailable', 'no')), 'server_error', 'uncertain'],
    ])('that answers %s fails the call', async (_what, answer, ofRead, ofWrite) => {
      shoot.routes = { [`GET ${nodeAt}`]: answer, [`PATCH ${nodeAt}`]: answer };
      const { nodes } = shoot.client;

      await expect(nodes.readNode(aShootName, 'web-1')).rejects.toMatchObject({ kind: ofRead, fromShoot: true });
      if (ofWrite === null) return;
      await expect(nodes.patchNode(aShootName, 'web-1', {})).rejects.toMatchObject({ kind: ofWrite, fromShoot: true });
    });

    it('that refuses connections is unreachable in every call, and no other kubeconfig is requested', async () => {
      shoot.routes[`GET ${nodeAt}`] = saying(200, aNode());
      const { nodes } = shoot.client;
      await nodes.readNode(aShootName, 'web-1');
      await shoot.stop();

      const join = { nodeName: 'web-1', architecture: 'amd64', tokenSeconds: 3_600 } as const;
      const unreachable = { kind: 'unreachable', untrusted: false, fromShoot: true };
      await expect(nodes.readNode(aShootName, 'web-1')).rejects.toMatchObject(unreachable);
      await expect(nodes.patchNode(aShootName, 'web-1', {})).rejects.toMatchObject(unreachable);
      await expect(nodes.deleteNode(aShootName, 'web-1')).rejects.toMatchObject(unreachable);
      await expect(nodes.evictPods(aShootName, 'web-1')).rejects.toMatchObject(unreachable);
      await expect(nodes.joinData(aShootName, join)).rejects.toMatchObject(unreachable);
      expect(shoot.issued).toEqual(['admin-1']);
    });

    it('that echoes requests puts none of them into errors and logs', async () => {
      const echo = saying(401, aStatus(401, 'Unauthorized', 'who is admin-1?'));
      shoot.routes[`GET ${nodeAt}`] = echo;
      const failure = await shoot.client.nodes.readNode(aShootName, 'web-1').catch((error: Error) => error);

      const said = inspect([failure, shoot.logged, shoot.calls, shoot.client], {
        depth: 20,
        showHidden: true,
        maxStringLength: null,
      });
      expect(said).toContain('Unauthorized');
      expect(said).not.toMatch(/BEGIN|PRIVATE|LS0tLS1/);
    });
  });
});

describe('eviction', () => {
  function aPod(name: string, overrides: { metadata?: object; status?: object } = {}) {
    return {
      metadata: { namespace: 'shop', name, uid: `uid-${name}`, ...overrides.metadata },
      spec: { nodeName: 'web-1' },
      status: { phase: 'Running', ...overrides.status },
    };
  }

  const ownedBy = (kind: string, controller = true) => ({
    metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'a', controller }] },
  });

  const evict = () => shoot.client.nodes.evictPods(aShootName, 'web-1');
  const evictionOf = (name: string) => `POST /api/v1/namespaces/shop/pods/${name}/eviction`;
  const began = saying(201, { kind: 'Status', status: 'Success' });
  const evictions = () => shoot.requests.filter(({ method }) => method === 'POST');

  function hold(pods: Record<string, ShootAnswer>): void {
    shoot.routes['GET /api/v1/pods'] = listing(Object.keys(pods).map((name) => aPod(name)));
    for (const [name, answer] of Object.entries(pods)) shoot.routes[evictionOf(name)] = answer;
  }

  describe('a pod', () => {
    it.each([
      ['of a ReplicaSet', ownedBy('ReplicaSet')],
      ['of a Job', ownedBy('Job')],
      ['without an owner', {}],
      ['that a DaemonSet only refers to', ownedBy('DaemonSet', false)],
      ['that waits for its containers', { status: { phase: 'Pending' } }],
      ['of which nothing is known', { status: { phase: 'Unknown' } }],
    ])('%s is evicted', (_what, overrides) => {
      expect(podToEvict(aPod('a', overrides))).toMatchObject({ name: 'a', uid: 'uid-a' });
    });

    it.each([
      ['of a DaemonSet', ownedBy('DaemonSet')],
      ['that mirrors one of the kubelet', { metadata: { annotations: { 'kubernetes.io/config.mirror': '' } } }],
      ['that has succeeded', { status: { phase: 'Succeeded' } }],
      ['that has failed', { status: { phase: 'Failed' } }],
    ])('%s is not evicted', (_what, overrides) => {
      expect(podToEvict(aPod('a', overrides))).toBeNull();
    });
  });

  describe('draining a node', () => {
    it('evicts exactly the existing pods, by uid', async () => {
      hold({ a: began });

      expect(await evict()).toBe(1);

      expect(shoot.requests[0]?.query.get('fieldSelector')).toBe('spec.nodeName=web-1');
      expect(evictions().map(({ body }) => body)).toEqual([
        {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { namespace: 'shop', name: 'a' },
          deleteOptions: { preconditions: { uid: 'uid-a' } },
        },
      ]);
    });

    it.each(['', 'a,spec.nodeName!=b'])('is refused for the name %j, which would select other nodes', async (name) => {
      await expect(shoot.client.nodes.evictPods(aShootName, name)).rejects.toThrow(TypeError);
      expect(shoot.requests).toEqual([]);
    });

    it('reads every page of pods', async () => {
      const metadata = { deletionTimestamp: '2026-11-22T10:00:00Z' };
      const leaving = Array.from({ length: 600 }, (_, n) => aPod(`pod-${n}`, { metadata }));
      shoot.routes['GET /api/v1/pods'] = listing([...leaving, aPod('last')]);
      shoot.routes[evictionOf('last')] = began;

      expect(await evict()).toBe(601);
      expect(evictions()).toHaveLength(1);
      expect(shoot.issued).toHaveLength(1);
    });

    const budget = aStatus(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.");
    const another = aStatus(
      409,
      'Conflict',
      'the UID in the precondition (uid-a) does not match the UID in record (b)',
    );
    const twoBudgets = aStatus(500, 'InternalServerError', 'This pod has more than one PodDisruptionBudget');

    it.each([
      ['is gone by now', 404, aStatus(404, 'NotFound', 'pods "a" not found', { name: 'a', kind: 'pods' }), 0],
      ['is another one by now', 409, another, 0],
      ['is kept by a budget', 429, budget, 1],
      ['has two budgets', 500, twoBudgets, 1],
      ['was just changed', 409, aStatus(409, 'Conflict', 'the object has been modified'), 1],
      ['is kept by a webhook', 403, aStatus(403, 'Forbidden', 'admission webhook "a" denied the request'), 1],
    ])('continues with the others when a pod %s', async (_what, status, body, stays) => {
      hold({ a: saying(status, body), b: began });

      expect(await evict()).toBe(1 + stays);
      expect(evictions()).toHaveLength(2);
    });

    it.each([
      ['the list is none', 'GET /api/v1/pods', saying(200, { metadata: {} }), 'unusable'],
      ['the list cannot be had', 'GET /api/v1/pods', saying(429, budget), 'throttled'],
      ['an answer is lost', evictionOf('a'), (_request: unknown, response) => response.destroy(), 'uncertain'],
    ] as [string, string, ShootAnswer, string][])('fails when %s', async (_what, route, answer, kind) => {
      hold({ a: began });
      shoot.routes[route] = answer;

      await expect(evict()).rejects.toMatchObject({ kind });
    });
  });
});

describe('joining', () => {
  beforeEach(async () => {
    shoot.routes['POST /api/v1/namespaces/kube-system/secrets'] = saying(201, { kind: 'Secret' });
    shoot.routes['GET /version'] = saying(200, { gitVersion: 'v1.33.7+abc', major: '1' });
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

    it('contains a token that the shoot knows, with the requested lifetime and only for joining', async () => {
      hold(aSecret('p1'));
      const before = Date.now();

      const [id, secret] = (await join()).bootstrapToken.split('.');

      const [{ data, ...rest }] = created() as [{ data: Record<string, string> }];
      expect(rest).toEqual({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          namespace: 'kube-system',
          name: `bootstrap-token-${id}`,
          labels: { 'corral.dev/joins-as': 'web-1' },
        },
        type: 'bootstrap.kubernetes.io/token',
      });
      const texts = Object.entries(data).map(([key, value]) => [key, text(value)]);
      expect(Object.fromEntries(texts)).toEqual({
        description: 'For the server web-1 to join as a node.',
        'token-id': id,
        'token-secret': secret,
        expiration: expect.stringMatching(/^[-\d]{10}T[:\d]{8}Z$/),
        'usage-bootstrap-authentication': 'true',
      });
      const seconds = (Date.parse(text(data.expiration ?? '')) - before) / 1_000;
      expect(seconds).toBeGreaterThan(890);
      expect(seconds).toBeLessThan(910);
    });

    it('is that of the newest config while a pool is rolled, whatever page it is on', async () => {
      const old = Array.from({ length: 45 }, (_, n) => aSecret('p1', { metadata: { name: `old-${n}` } }));
      const labels = { 'worker.gardener.cloud/pool': 'p1' };
      hold(...old, aSecret('p1', { metadata: { name: 'new', creationTimestamp: '2026-11-02T10:00:00Z', labels } }));

      expect((await join()).configSecretName).toBe('new');
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

    it.each([
      ['its label', { labels: { 'worker.gardener.cloud/kubernetes-version': '1.32.9' } }, '1.32.9'],
      ['the config of its node agent', {}, '1.34.2'],
      ['the shoot, when the config does not say', { config: aConfig([agent]) }, '1.33.7'],
      [
        'the shoot, when that cannot be read',
        { config: aConfig([agent, { ...agentConfig(''), content: 7 }]) },
        '1.33.7',
      ],
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
});

describe('the kubeconfig of a shoot', () => {
  beforeEach(async () => {
    shoot.routes = { [`GET ${nodeAt}`]: saying(200, aNode()), [`PATCH ${nodeAt}`]: saying(200, aNode()) };
  });

  const read = (name = aShootName.name) => shoot.client.nodes.readNode({ ...aShootName, name }, 'web-1');
  const write = () => shoot.client.nodes.patchNode(aShootName, 'web-1', { labels: {} });
  const users = () => shoot.requests.map(({ user }) => user);

  /** Advances all clocks. Running timers keep the real time. */
  function wait(seconds: number): void {
    const doNotFake = ['nextTick', 'setImmediate', 'queueMicrotask', 'setTimeout', 'setInterval'] as const;
    const monotonic = performance.now();
    jest.useFakeTimers({ now: Date.now() + seconds * 1_000, doNotFake: [...doNotFake] });
    // A faked monotonic clock begins at 0.
    jest.advanceTimersByTime(monotonic + seconds * 1_000);
  }

  it('is requested once per hour for each shoot, however many calls use it', async () => {
    const asked: unknown[] = [];
    await Promise.all(Array.from({ length: 10 }, () => read()));
    for (let n = 0; n < 10; n += 1) await write();

    expect(shoot.issued).toEqual(['admin-1']);
    expect(new Set(users())).toEqual(new Set(['admin-1']));
    await read('two');
    expect(users().at(-1)).toBe('admin-2');

    shoot.garden = ({ body }, response) => {
      asked.push(JSON.parse(body).spec);
      answerJson(response, 503, {});
    };
    await expect(read('other')).rejects.toThrow();
    expect(asked[0]).toEqual({ expirationSeconds: 3_600 });
  });

  it('is used until it expires while the garden is unavailable, and no longer', async () => {
    await read();
    shoot.garden = (_request, response) => answerJson(response, 503, {});

    wait(3_500);
    await read();
    expect(users()).toEqual(['admin-1', 'admin-1']);
    jest.useRealTimers();

    wait(3_700);
    await expect(read()).rejects.toMatchObject({ kind: 'server_error', fromShoot: false });
  });

  it.each([
    ['401', () => shoot.refused.add('admin-1')],
    [
      '403',
      () => {
        const message = 'nodes "web-1" is forbidden: User "system:anonymous" cannot get resource "nodes"';
        const answer = (status: number) =>
          saying(status, status === 200 ? aNode() : aStatus(403, 'Forbidden', message));
        for (const route of Object.keys(shoot.routes)) {
          shoot.routes[route] = (request, response) =>
            answer(request.user === 'admin-1' ? 403 : 200)(request, response);
        }
      },
    ],
  ])('is renewed when the shoot answers %s, and the call is repeated once, even a write', async (_what, refuse) => {
    await read();
    refuse();

    await Promise.all([read(), write(), read()]);
    await read();

    expect(shoot.issued).toEqual(['admin-1', 'admin-2']);
  });

  it('is renewed when the shoot has a new authority, which never receives the old one', async () => {
    shoot.routes[`GET ${nodeAt}`] = (_request, response) => answerJson(response, 200, aNode(), { Connection: 'close' });
    await read();
    await shoot.moveTo(await anAuthority('another'));
    shoot.requests.length = 0;

    await write();

    expect(users()).toEqual(['admin-2']);
  });

  it.each<[string, object, object]>([
    ['runs a program', { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/true' } }, {}],
    ['names a token file', { tokenFile: '/etc/hostname' }, {}],
    ['names a key file', { 'client-certificate': '/etc/hostname', 'client-key': '/etc/hostname' }, {}],
    ['names a file with an authority', { token: 'a' }, { 'certificate-authority': '/etc/hostname' }],
    ['has no valid address', { token: 'a' }, { server: 'nowhere' }],
    ['would send its token unencrypted', { token: 'a' }, { server: 'http://api.example.com' }],
  ])('is rejected when it %s', async (_what, user, cluster) => {
    const kubeconfig = asAnswered(aKubeconfig('https://127.0.0.1:1', user, cluster));
    shoot.garden = (_request, response) =>
      answerJson(response, 201, { status: { kubeconfig, expirationTimestamp: '2100-01-01T00:00:00Z' } });

    await expect(read()).rejects.toMatchObject({ kind: 'unusable' });
  });

  it('is unavailable while the control plane has no address: the shoot is unreachable', async () => {
    const details = { name: 'c1234567', kind: 'AdminKubeconfigRequest' };
    shoot.garden = (_request, response) =>
      answerJson(response, 422, aStatus(422, 'Invalid', 'no suitable advertised address', details));

    await expect(read()).rejects.toMatchObject({ kind: 'unreachable' });
  });

  it('can be refused by a policy of the garden, which is no silence of the shoot', async () => {
    const message = `ValidatingAdmissionPolicy 'no-admins' with binding 'no-admins' denied request: ask first`;
    shoot.garden = (_request, response) => answerJson(response, 422, aStatus(422, 'Invalid', message));

    const denial = { by: 'no-admins', words: 'ask first' };
    await expect(read()).rejects.toMatchObject({ kind: 'refused', denial, fromShoot: false });
  });

  it('is unavailable for an absent shoot, which has no nodes', async () => {
    shoot.garden = (_request, response) =>
      answerJson(response, 404, aStatus(404, 'NotFound', 'shoots "c1234567" not found', { name: 'c1234567' }));
    const { nodes } = shoot.client;

    expect(await read()).toBeNull();
    expect(await nodes.evictPods(aShootName, 'web-1')).toBe(0);
    await nodes.deleteNode(aShootName, 'web-1');
    await expect(write()).rejects.toMatchObject({ kind: 'not_found' });
    const join = nodes.joinData(aShootName, { nodeName: 'web-1', architecture: 'amd64', tokenSeconds: 60 });
    await expect(join).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('status', () => {
  const pem = authority.ca;

  describe('the certificate authority of a shoot', () => {
    const at = `/api/v1/namespaces/${aShootName.namespace}`;
    const inMap = `${at}/configmaps/${aShootName.name}.ca-cluster`;
    const inSecret = `${at}/secrets/${aShootName.name}.ca-cluster`;

    let kept: Record<string, { status: number; body: object }>;
    let paths: string[];
    beforeEach(() => {
      [kept, paths] = [{}, []];
      shoot.garden = ({ path }, response) => {
        paths.push(path);
        const name = path.split('/').at(-1) ?? '';
        const absent = { status: 404, body: aStatus(404, 'NotFound', `"${name}" not found`, { name }) };
        const { status, body } = kept[path] ?? absent;
        answerJson(response, status, body);
      };
    });
    const read = () => shoot.client.readAuthority(aShootName);

    it('is read from its ConfigMap only, and is two certificates during a rotation', async () => {
      kept[inMap] = { status: 200, body: { data: { 'ca.crt': `${pem}${pem}` } } };

      expect(await read()).toBe(`${pem}${pem}`);
      expect(paths).toEqual([inMap]);
    });

    it('is read from the Secret in older gardens', async () => {
      kept[inSecret] = { status: 200, body: { data: { 'ca.crt': base64(pem) } } };

      expect(await read()).toBe(pem);
      expect(paths).toEqual([inMap, inSecret]);
    });

    it.each([
      ['no such entry', {}],
      ['a private key', { 'ca.crt': pem.replaceAll('CERTIFICATE', 'PRIVATE KEY') }],
      ['more than anybody needs', { 'ca.crt': pem.repeat(100) }],
    ])('is null if the ConfigMap has %s', async (_what, data) => {
      kept[inMap] = { status: 200, body: { data } };

      expect(await read()).toBeNull();
    });

    it('is not read from elsewhere when access is denied', async () => {
      kept['/readyz'] = { status: 200, body: {} };
      kept[inMap] = {
        status: 403,
        body: aStatus(403, 'Forbidden', 'configmaps "x" is forbidden: User "u" cannot get'),
      };

      await expect(read()).rejects.toMatchObject({ kind: 'rbac' });
      expect(paths).not.toContain(inSecret);
    });
  });

  describe('the nodes of a shoot', () => {
    const nodesAt = 'GET /api/v1/nodes';
    const numbered = (count: number) =>
      Array.from({ length: count }, (_, n) => aNode({ metadata: { name: `node-${n}`, uid: `uid-${n}` } }));

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
  });

  describe('an object of a shoot', () => {
    const metadata = { namespace: 'web', name: 'edge' };
    const ingress = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata };
    const ingressAt = '/apis/networking.k8s.io/v1/namespaces/web/ingresses/edge';

    it('is applied under our field manager, and others keep their fields unless it is forced', async () => {
      shoot.routes[`PATCH ${ingressAt}`] = ({ body }, response) => answerJson(response, 200, body);

      const applied = await shoot.client.objects.apply(aShootName, { ...ingress, spec: { rules: [] } });
      await shoot.client.objects.apply(aShootName, ingress, { force: true });

      expect(applied).toEqual({ ...ingress, spec: { rules: [] } });
      expect(shoot.requests.map(({ type, query }) => [type, Object.fromEntries(query)])).toEqual([
        ['application/apply-patch+yaml', { fieldManager: 'corral', force: 'false' }],
        ['application/apply-patch+yaml', { fieldManager: 'corral', force: 'true' }],
      ]);
    });

    it('is read and deleted, and an absent one is neither an error', async () => {
      shoot.routes[`GET ${ingressAt}`] = saying(200, ingress);
      shoot.routes[`DELETE ${ingressAt}`] = saying(200, { kind: 'Status', status: 'Success' });
      const absent = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'none' } };

      expect(await shoot.client.objects.read(aShootName, ingress)).toEqual(ingress);
      expect(await shoot.client.objects.read(aShootName, absent)).toBeNull();
      await shoot.client.objects.delete(aShootName, ingress);
      await shoot.client.objects.delete(aShootName, absent);

      expect(shoot.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        `GET ${ingressAt}`,
        'GET /api/v1/namespaces/none',
        `DELETE ${ingressAt}`,
        'DELETE /api/v1/namespaces/none',
      ]);
    });

    it('of a kind that is not served is told from an absent one', async () => {
      const unknown = { apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: { name: 'ours' } };
      shoot.routes['GET /apis/cert-manager.io/v1/clusterissuers/ours'] = saying(
        404,
        aStatus(404, 'NotFound', 'no', {}),
      );

      await expect(shoot.client.objects.read(aShootName, unknown)).rejects.toMatchObject({
        kind: 'unusable',
        status: 404,
      });
    });

    it('leaves nothing of a Secret in an error', async () => {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata };
      const quoting = aStatus(400, 'BadRequest', 'cannot decode "hunter2"');
      shoot.routes['PATCH /api/v1/namespaces/web/secrets/edge'] = saying(400, quoting);

      const error = await shoot.client.objects.apply(aShootName, secret).catch((thrown) => thrown);

      expect(error.kind).toBe('refused');
      expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('hunter2');
    });
  });

  it('lists the addresses of load balancers and Ingresses, and of nodes those from outside', async () => {
    const balanced = (ingress: object[]) => ({
      metadata: { namespace: 'web', name: 'edge' },
      status: { loadBalancer: { ingress } },
    });
    shoot.routes['GET /api/v1/services'] = listing([
      balanced([{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }]),
      balanced([]),
    ]);
    shoot.routes['GET /apis/networking.k8s.io/v1/ingresses'] = listing([balanced([{ hostname: 'lb.example.com' }])]);
    const addresses = [
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'ExternalIP', address: '192.0.2.2' },
    ];
    const node = aNode();
    shoot.routes['GET /api/v1/nodes'] = listing([{ ...node, status: { ...node.status, addresses } }]);

    const balancers = await shoot.client.listBalancers(aShootName);
    const [{ externalIps } = { externalIps: [] }] = await shoot.client.listNodes(aShootName);

    expect(balancers).toEqual([
      { kind: 'Service', namespace: 'web', name: 'edge', addresses: ['192.0.2.1', '2001:db8::1'] },
      { kind: 'Ingress', namespace: 'web', name: 'edge', addresses: ['lb.example.com'] },
    ]);
    expect(externalIps).toEqual(['192.0.2.2']);
    expect(shoot.requests.find(({ path }) => path === '/api/v1/services')?.query.get('fieldSelector')).toBe(
      'spec.type=LoadBalancer',
    );
  });
});
