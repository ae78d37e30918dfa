import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aShoot, aWorker } from './a-shoot.js';
import { aBinding, aSecret, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden({ createMs: 60_000 });
});
afterAll(() => garden.stop());

const SECRETS = '/api/v1/namespaces/garden-acme/secrets';
const MERGE = 'application/merge-patch+json';

const createShoot = async (name: string) => (await garden.create(aShoot({ name }))).body;

describe('a create', () => {
  it('answers 201 with the fields that the server adds', async () => {
    const { status, body } = await garden.call('POST', SECRETS, aSecret('fresh', 'x'));

    expect(status).toBe(201);
    expect(body).toMatchObject({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        creationTimestamp: expect.stringMatching(/Z$/),
        resourceVersion: expect.stringMatching(/^\d+$/),
      },
      type: 'Opaque',
      data: { hcloudToken: 'eA==' },
    });
  });

  it('with an existing name answers 409 AlreadyExists', async () => {
    await garden.call('POST', SECRETS, aSecret('taken', 'x'));

    const { status, body } = await garden.call('POST', SECRETS, aSecret('taken', 'y'));

    expect([status, body.reason, body.message]).toEqual([409, 'AlreadyExists', 'secrets "taken" already exists']);
  });

  it('drops unknown fields', async () => {
    const shoot = { ...aShoot({ name: 'typo' }), spec: { ...aShoot().spec, regoin: 'x' } };

    const { status, body } = await garden.call('POST', `${SHOOTS}?dryRun=All`, shoot);

    expect([status, body.spec.regoin]).toEqual([201, undefined]);
  });

  it.each<[string, unknown, string, number, string]>([
    [
      'a value of another type',
      { ...aShoot(), spec: { ...aShoot().spec, region: 7 } },
      'application/json',
      400,
      'cannot unmarshal number into Go struct field .spec.region of type string',
    ],
    ['another kind', { ...aShoot(), kind: 'Seed' }, 'application/json', 400, 'cannot be handled as a Shoot'],
    [
      'another version',
      { ...aShoot(), apiVersion: 'v1' },
      'application/json',
      400,
      'Shoot in version "v1" cannot be handled as a Shoot',
    ],
    ['a broken body', '{"a":', 'application/json', 400, 'json parse error'],
    [
      'another namespace',
      { ...aShoot(), metadata: { name: 'x', namespace: 'y' } },
      'application/json',
      400,
      'the namespace of the provided object does not match',
    ],
    ['protobuf', 'k8s', 'application/vnd.kubernetes.protobuf', 415, 'unknown format'],
    [
      'a version of its own',
      { ...aShoot(), metadata: { name: 'x', resourceVersion: '1' } },
      'application/json',
      500,
      'resourceVersion should not be set',
    ],
    [
      'more than three megabytes',
      `{"a":"${'x'.repeat(3_200_000)}"}`,
      'application/json',
      413,
      'Request entity too large',
    ],
  ])('is refused for %s', async (_case, body, type, status, message) => {
    const answer = await garden.call('POST', SHOOTS, body, type);

    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });
});

describe('the metadata of every object', () => {
  const secretWith = (metadata: object, fields: object = {}) => ({
    ...aSecret('meta', 'x'),
    ...fields,
    metadata: { name: 'meta', ...metadata },
  });

  it.each<[string, object, number, string]>([
    [
      'a name in capitals',
      { name: 'Meta' },
      422,
      'metadata.name: Invalid value: "Meta": a lowercase RFC 1123 subdomain',
    ],
    [
      'a label with a space',
      { labels: { team: 'the a team' } },
      422,
      'metadata.labels: Invalid value: "the a team": a valid label must be',
    ],
    ['a label of 64 characters', { labels: { team: 'a'.repeat(64) } }, 422, 'a valid label must be'],
    [
      'a label key with a space',
      { labels: { 'a b': 'c' } },
      422,
      'metadata.labels: Invalid value: "a b": name part must consist of',
    ],
    [
      'an annotation key with a space',
      { annotations: { 'a b': 'c' } },
      422,
      'metadata.annotations: Invalid value: "a b"',
    ],
  ])('is refused for %s', async (_case, metadata, status, message) => {
    const answer = await garden.call('POST', `${SECRETS}?dryRun=All`, secretWith(metadata));

    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  it('is not validated when a value of a Secret is not base64', async () => {
    const { status, body } = await garden.call('POST', SECRETS, secretWith({}, { data: { a: '%' } }));

    expect([status, body.message]).toEqual([400, expect.stringContaining('illegal base64 data')]);
  });

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
  it('by merge replaces the whole list of pools', async () => {
    await garden.create(aShoot({ name: 'merged', workers: [aWorker(), aWorker({ name: 'pool-b' })] }));

    const { body } = await garden.call(
      'PATCH',
      `${SHOOTS}/merged`,
      { spec: { provider: { workers: [aWorker()] } } },
      MERGE,
    );

    expect(body.spec.provider.workers).toHaveLength(1);
  });

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

describe('a delete', () => {
  it('answers a Status when the object is deleted immediately', async () => {
    const { body: secret } = await garden.call('POST', SECRETS, aSecret('deleted', 'x'));

    const { status, body } = await garden.call('DELETE', `${SECRETS}/deleted`);

    expect([status, body]).toEqual([
      200,
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'deleted', kind: 'secrets', uid: secret.metadata.uid },
      },
    ]);
    expect((await garden.call('DELETE', `${SECRETS}/deleted`)).status).toBe(404);
  });

  it('respects preconditions, and refuses dry runs', async () => {
    const { body: secret } = await garden.call('POST', SECRETS, aSecret('kept', 'x'));
    const path = `${SECRETS}/kept`;

    const uid = await garden.call('DELETE', path, { preconditions: { uid: 'x' } });
    const dry = await garden.call('DELETE', `${path}?dryRun=All`);

    expect([uid.status, dry.status]).toEqual([409, 400]);
    expect(uid.body.message).toBe(
      `Operation cannot be fulfilled on secrets "kept": Precondition failed: UID in precondition: x, UID in object meta: ${secret.metadata.uid}`,
    );
    expect((await garden.call('GET', path)).status).toBe(200);
  });
});

describe('a CredentialsBinding', () => {
  const BINDINGS = '/apis/security.gardener.cloud/v1alpha1/namespaces/garden-acme/credentialsbindings';

  it('is immutable', async () => {
    const body = { credentialsRef: { name: 'other' } };

    const { status, body: refusal } = await garden.call('PATCH', `${BINDINGS}/conn`, body, MERGE);

    expect([status, refusal.message]).toEqual([422, expect.stringContaining('credentialsRef: Invalid value')]);
  });

  it('requires its Secret to exist', async () => {
    const { status, body } = await garden.call('POST', BINDINGS, aBinding('nothing'));

    expect([status, body.message]).toEqual([403, expect.stringContaining('secrets "nothing" not found')]);
  });
});

describe('a path', () => {
  it.each([
    ['GET', '/apis/core.gardener.cloud/v1beta1/nothing', 404],
    ['GET', '/apis/apps/v1/deployments', 404],
    ['GET', `${SHOOTS}/web/scale`, 404],
    ['GET', `${SHOOTS}/missing`, 404],
    ['DELETE', SHOOTS, 403],
    ['POST', '/apis/core.gardener.cloud/v1beta1/shoots', 405],
    ['GET', '/openapi/v2', 404],
    ['GET', '/api/v1/namespaces/%zz', 404],
  ])('%s %s answers %p with a Status', async (method, path, status) => {
    const answer = await garden.call(method, path, method === 'POST' ? aShoot() : undefined);

    expect([answer.status, answer.body.kind, answer.body.code]).toEqual([status, 'Status', status]);
  });
});
