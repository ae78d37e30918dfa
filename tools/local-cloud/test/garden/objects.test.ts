import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { accounts, type FaultEffect } from '../../src/index.js';
import { aShoot, aWorker } from './a-shoot.js';
import { type GardenClient, gardenClient, type WatchEvent, type WatchStream } from './garden-client.js';
import { aSecret, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

const SECRETS = '/api/v1/namespaces/garden-acme/secrets';

describe('writes', () => {
  let garden: TestGarden;

  beforeAll(async () => {
    garden = await startTestGarden({ createMs: 60_000 });
  });

  afterAll(() => garden.stop());

  const MERGE = 'application/merge-patch+json';

  const createShoot = async (name: string) => (await garden.create(aShoot({ name }))).body;

  describe('the metadata of every object', () => {
    it('keeps a deleted object until its finalizers are removed', async () => {
      await garden.call('POST', SECRETS, {
        ...aSecret('held', 'x'),
        metadata: { name: 'held', finalizers: ['test/hold'] },
      });
      const path = `${SECRETS}/held`;
      const deleted = await garden.call('DELETE', path);

      const released = await garden.call('PATCH', path, { metadata: { finalizers: [] } }, MERGE);
      const gone = await garden.call('GET', path);

      expect(deleted.body.metadata).toMatchObject({
        deletionTimestamp: expect.any(String),
        deletionGracePeriodSeconds: 0,
      });
      expect([released.status, gone.status]).toEqual([200, 404]);
    });
  });

  describe('a patch', () => {
    it('with an outdated version answers 409', async () => {
      const { metadata } = await createShoot('raced');
      const body = { metadata: { resourceVersion: metadata.resourceVersion, labels: { a: 'b' } } };

      const first = await garden.call('PATCH', `${SHOOTS}/raced`, body, MERGE);
      const second = await garden.call(
        'PATCH',
        `${SHOOTS}/raced`,
        { metadata: { ...body.metadata, labels: { a: 'c' } } },
        MERGE,
      );

      expect([first.status, second.status]).toEqual([200, 409]);
    });

    it.each([
      ['application/json', {}, 415],
      ['application/json-patch+json', [], 415],
      [MERGE, '[', 400],
      [`${MERGE}; charset=utf-8`, { metadata: { labels: { a: 'b' } } }, 200],
    ])('of type %s with %j answers %p', async (type, body, status) => {
      await garden.create(aShoot({ name: 'typed' }));

      expect((await garden.call('PATCH', `${SHOOTS}/typed`, body, type)).status).toBe(status);
    });
  });

  describe('the generation', () => {
    it.each<[string, object, number]>([
      ['a label', { metadata: { labels: { a: 'b' } } }, 0],
      ['an annotation', { metadata: { annotations: { a: 'b' } } }, 0],
      ['a change of the spec', { spec: { purpose: 'testing' } }, 1],
      ['the same spec again', { spec: { region: 'hel1' } }, 0],
      [
        'a change whose rollout is confined to the maintenance window',
        { spec: { maintenance: { confineSpecUpdateRollout: true } } },
        0,
      ],
      [
        'hibernation, even when rollouts are confined',
        { spec: { maintenance: { confineSpecUpdateRollout: true }, hibernation: { enabled: true } } },
        1,
      ],
    ])('is increased by %s by %#', async (_case, body, raisedBy) => {
      const name = `gen${Math.random().toString(36).slice(2, 8)}`;
      const { metadata } = await createShoot(name);

      const patched = await garden.call('PATCH', `${SHOOTS}/${name}`, body, MERGE);

      expect(patched.body.metadata.generation - metadata.generation).toBe(raisedBy);
    });
  });
});

describe('apply', () => {
  let garden: TestGarden;

  beforeAll(async () => {
    garden = await startTestGarden();
  });

  afterAll(() => garden.stop());

  // biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
  type Part = any;

  const sharesOf = ({ metadata }: Part) =>
    metadata.managedFields.map(({ manager, operation, subresource = '' }: Part) => [manager, operation, subresource]);

  const shareOf = ({ metadata }: Part, manager: string, operation = 'Apply') =>
    metadata.managedFields.find((entry: Part) => entry.manager === manager && entry.operation === operation)?.fieldsV1;

  describe('server-side apply', () => {
    it('owns the applied fields and no defaults, and identifies a pool by its name', async () => {
      const shoot = await garden.createReady({ name: 'owned' });

      const { 'f:spec': spec } = shareOf(shoot, 'test');
      expect(Object.keys(spec).sort()).toEqual([
        'f:cloudProfile',
        'f:credentialsBindingName',
        'f:kubernetes',
        'f:networking',
        'f:provider',
        'f:region',
      ]);
      expect(spec['f:kubernetes']).toEqual({ 'f:version': {} });
      expect(spec['f:provider']['f:workers']).toEqual({
        'k:{"name":"pool-a"}': {
          '.': {},
          'f:name': {},
          'f:minimum': {},
          'f:maximum': {},
          'f:machine': { 'f:type': {} },
          'f:zones': {},
        },
      });
      expect(sharesOf(shoot)).toEqual([
        ['test', 'Apply', ''],
        ['gardener-scheduler', 'Update', 'binding'],
        ['gardenlet', 'Update', ''],
        ['gardenlet', 'Update', 'status'],
      ]);
    });

    it('lists every conflicting field, those of pools by the name of the pool', async () => {
      await garden.createReady({ name: 'many' });
      await garden.apply(
        {
          ...aShoot({ name: 'many', workers: [aWorker({ maximum: 4 })] }),
          spec: { purpose: 'testing', provider: { workers: [{ name: 'pool-a', maximum: 3 }] } },
        },
        { manager: 'other' },
      );

      const { body } = await garden.apply(
        aShoot({ name: 'many', spec: { purpose: 'production' }, workers: [aWorker({ maximum: 9 })] }),
      );

      expect(body.details.causes.map(({ field }: Part) => field)).toEqual([
        '.spec.provider.workers[name="pool-a"].maximum',
        '.spec.purpose',
      ]);
      expect(body.message).toBe(
        'Apply failed with 2 conflicts: conflicts with "other":\n- .spec.provider.workers[name="pool-a"].maximum\n- .spec.purpose',
      );
    });

    it('takes over a raised version, and is then refused', async () => {
      await garden.createReady({ name: 'raised', spec: { kubernetes: { version: '1.34.2' } } });
      garden.cloud.admin.garden.editShoot('garden-acme', 'raised', {
        patch: { spec: { kubernetes: { version: '1.34.3' } } },
      });

      const { status, body } = await garden.apply(
        aShoot({ name: 'raised', spec: { kubernetes: { version: '1.34.2' } } }),
        { force: true },
      );

      expect([status, body.message]).toEqual([
        422,
        expect.stringContaining('kubernetes version downgrade is not supported'),
      ]);
    });

    it.each<[string, Part, string, number, string]>([
      [
        'an unknown field',
        { ...aShoot(), spec: { ...aShoot().spec, typo: 1 } },
        'fieldManager=test',
        500,
        '.spec.typo: field not declared in schema',
      ],
      ['no manager', aShoot(), '', 422, 'fieldManager: Required value: is required for apply patch'],
      [
        'managed fields',
        { ...aShoot(), metadata: { name: 'web', managedFields: [] } },
        'fieldManager=test',
        400,
        'metadata.managedFields must be nil',
      ],
      [
        'another name',
        aShoot({ name: 'other' }),
        'fieldManager=test',
        400,
        'the name of the object (other) does not match the name on the URL (web)',
      ],
      ['another kind', { ...aShoot(), kind: 'Project' }, 'fieldManager=test', 400, 'do not match the expected'],
      [
        'an old version',
        { ...aShoot(), metadata: { name: 'web', resourceVersion: '1' } },
        'fieldManager=test',
        409,
        'the object has been modified',
      ],
    ])('is refused with %s', async (_case, body, query, expected, message) => {
      const answer = await garden.call('PATCH', `${SHOOTS}/web?${query}`, body, 'application/apply-patch+yaml');

      expect([answer.status, answer.body.message]).toEqual([expected, expect.stringContaining(message)]);
    });
  });
});

describe('lists and watches', () => {
  let garden: TestGarden;

  let streams: WatchStream[];

  beforeEach(async () => {
    garden = await startTestGarden();
    streams = [];
  });

  afterEach(async () => {
    for (const stream of streams) stream.stop();
    await garden.stop();
  });

  const list = async (query = '') => (await garden.call('GET', `${SECRETS}?${query}`)).body;

  const make = (name: string, labels = {}) => {
    const secret = aSecret(name, 'x');
    return garden.call('POST', SECRETS, { ...secret, metadata: { ...secret.metadata, labels } });
  };

  const label = (name: string, labels: Record<string, string | null>) =>
    garden.call('PATCH', `${SECRETS}/${name}`, { metadata: { labels } }, 'application/merge-patch+json');

  const watch = async (query: string): Promise<WatchStream> => {
    const stream = await garden.watch(`${SECRETS}?watch=true&${query}`);
    streams.push(stream);
    return stream;
  };

  const seen = ({ events }: { events: readonly WatchEvent[] }) =>
    events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.reason}`);

  const untilSeen = (stream: WatchStream, ...lines: string[]) =>
    waitFor(`the events ${lines}`, () => {
      expect(seen(stream)).toEqual(lines);
      return true;
    });

  const namesOf = ({ items }: { items: { metadata: { name: string } }[] }) =>
    items.map(({ metadata }) => metadata.name);

  describe('a list', () => {
    beforeEach(async () => {
      for (const [name, tier] of [
        ['a', 'web'],
        ['b', 'db'],
        ['c', 'web'],
      ] as const) {
        await make(name, { tier });
      }
    });

    it('comes in pages that show one version', async () => {
      const first = await list('limit=2');
      await make('aa');
      await garden.call('DELETE', `${SECRETS}/c`);
      const second = await list(`limit=2&continue=${first.metadata.continue}`);

      expect([namesOf(first), namesOf(second)]).toEqual([
        ['a', 'b'],
        ['c', 'conn'],
      ]);
      expect(first.metadata).toMatchObject({ resourceVersion: second.metadata.resourceVersion });
      expect(second.metadata.continue).toBeUndefined();
      expect(namesOf(await list())).toEqual(['a', 'aa', 'b', 'conn']);
    });

    it('answers 410 when its version has expired', async () => {
      const first = await list('limit=2');
      await make('d');
      garden.cloud.admin.garden.dropWatches({ expireHistory: true });

      const gone = await garden.call('GET', `${SECRETS}?limit=9&continue=${first.metadata.continue}`);

      expect([gone.status, gone.body.reason]).toEqual([410, 'Expired']);
    });

    it.each([
      ['continue=abc', 400, 'BadRequest'],
      ['limit=-1', 400, 'BadRequest'],
      ['labelSelector=a%3Db%3Dc%3Dd,,', 400, 'BadRequest'],
      ['fieldSelector=data%3Dx', 400, 'BadRequest'],
    ])('with %s is refused', async (query, status, reason) => {
      const answer = await garden.call('GET', `${SECRETS}?${query}`);

      expect([answer.status, answer.body.reason]).toEqual([status, reason]);
    });
  });

  describe('a watch', () => {
    it('delivers every event after its version, even after a disconnect', async () => {
      const { metadata } = await list();
      const first = await watch(`resourceVersion=${metadata.resourceVersion}`);
      await make('a');
      await untilSeen(first, 'ADDED a');
      first.stop();
      await label('a', { x: 'y' });
      await garden.call('DELETE', `${SECRETS}/a`);

      const version = first.events.at(-1)?.object.metadata.resourceVersion;
      const second = await watch(`resourceVersion=${version}`);

      await untilSeen(second, 'MODIFIED a', 'DELETED a');
    });

    it('with a selector reports objects that begin or cease to match', async () => {
      const { metadata } = await list();
      const stream = await watch(`labelSelector=tier&resourceVersion=${metadata.resourceVersion}`);

      await make('a');
      await label('a', { tier: 'web' });
      await label('a', { tier: 'db' });
      await label('a', { tier: null });

      await untilSeen(stream, 'ADDED a', 'MODIFIED a', 'DELETED a');
    });

    it('from an expired version gets the error inside the stream', async () => {
      const { metadata } = await list();
      await make('a');
      garden.cloud.admin.garden.dropWatches({ expireHistory: true });

      const stream = await watch(`resourceVersion=${metadata.resourceVersion}`);
      await stream.ended;

      expect(stream.status).toBe(200);
      expect(stream.events).toMatchObject([
        { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } },
      ]);
    });
  });
});

describe('rudeness', () => {
  let garden: TestGarden;

  let reconciler: GardenClient;

  let clusterApi: GardenClient;

  beforeAll(async () => {
    garden = await startTestGarden();
    reconciler = gardenClient(garden.cloud.gardenKubeconfigs.reconciler);
    clusterApi = gardenClient(garden.cloud.gardenKubeconfigs['cluster-api']);
  });

  afterAll(async () => {
    reconciler.close();
    clusterApi.close();
    await garden.stop();
  });

  describe('service account', () => {
    const manifests = new URL('../../../../infra/garden/', import.meta.url);
    const rolesOf = (file: string) =>
      parseAllDocuments(readFileSync(new URL(file, manifests), 'utf8')).map((document) => document.toJS());

    it.each(['cluster-api', 'reconciler'] as const)('has the rights that its manifest grants: %s', (account) => {
      const [serviceAccount, role, binding] = rolesOf(`${account}.yaml`);

      expect(role).toMatchObject({ kind: 'ClusterRole', rules: accounts[account].rules });
      const { name, namespace } = serviceAccount.metadata;
      expect(`system:serviceaccount:${namespace}:${name}`).toBe(accounts[account].userName);
      expect(binding).toMatchObject({
        kind: 'ClusterRoleBinding',
        roleRef: { kind: 'ClusterRole', name: role.metadata.name },
        subjects: [{ kind: 'ServiceAccount', name, namespace }],
      });
    });

    it('is one of those that the manifests create', () => {
      const files = readdirSync(manifests).filter((file) => file.endsWith('.yaml'));

      expect(files.sort()).toEqual(['cluster-api.yaml', 'reconciler.yaml']);
    });

    it('needs the right to create for an apply that creates something', async () => {
      const path = `${SHOOTS}/made-by-apply?fieldManager=corral`;
      const apply = () =>
        reconciler.call('PATCH', path, aShoot({ name: 'made-by-apply' }), 'application/apply-patch+yaml');
      const verbs = ['get', 'patch'];
      const { setRights } = garden.cloud.admin.garden;
      setRights('reconciler', [{ apiGroups: ['core.gardener.cloud'], resources: ['shoots'], verbs }]);

      const refused = await apply();
      setRights('reconciler', null);
      const made = await apply();

      expect([refused.status, made.status]).toEqual([403, 201]);
      expect(refused.body.message).toContain('cannot create resource "shoots"');
    });
  });
});

describe('faults', () => {
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

    it.each<[FaultEffect, string, boolean]>([
      [{ reset: 'before' }, 'before', false],
      [{ reset: 'after' }, 'after', true],
      [{ truncate: true }, 'half', true],
    ])('%j breaks the connection', async (effect, name, isPerformed) => {
      inject(effect);

      await expect(garden.apply(aShoot({ name }))).rejects.toThrow();

      expect(await exists(name)).toBe(isPerformed);
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
});
