import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aShoot, aWorker } from './a-shoot.js';
import { isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

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
const poolsOf = ({ spec }: Part) => spec.provider.workers.map(({ name }: Part) => name);

describe('server-side apply', () => {
  it('answers 201 for a new object and 200 for an existing one', async () => {
    const shoot = aShoot({ name: 'twice' });

    const first = await garden.apply(shoot);
    const second = await garden.apply(shoot);

    expect([first.status, second.status]).toEqual([201, 200]);
  });

  it('changes nothing, not even the version, when the same configuration is applied again', async () => {
    const before = await garden.createReady({ name: 'same' });

    const { body } = await garden.apply(aShoot({ name: 'same' }));

    expect(body.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    expect(body.metadata.managedFields).toEqual(before.metadata.managedFields);
  });

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

  it('removes omitted fields and omitted pools with all their fields', async () => {
    const spec = { purpose: 'testing', hibernation: { enabled: false } };
    await garden.createReady({ name: 'less', workers: [aWorker(), aWorker({ name: 'pool-b' })], spec });

    const { status, body } = await garden.apply(aShoot({ name: 'less' }));

    expect([status, poolsOf(body)]).toEqual([200, ['pool-a']]);
    expect([body.spec.purpose, body.spec.hibernation]).toEqual(['evaluation', undefined]);
  });

  it('leaves pools of other managers alone', async () => {
    await garden.createReady({ name: 'shared' });
    const other = {
      apiVersion: 'core.gardener.cloud/v1beta1',
      kind: 'Shoot',
      metadata: aShoot({ name: 'shared' }).metadata,
    };
    const added = await garden.apply(
      { ...other, spec: { provider: { workers: [aWorker({ name: 'theirs' })] } } },
      { manager: 'other' },
    );

    const { body } = await garden.apply(aShoot({ name: 'shared', workers: [aWorker({ maximum: 5 })] }));

    expect([added.status, poolsOf(body)]).toEqual([200, ['pool-a', 'theirs']]);
    expect(body.spec.provider.workers[0].maximum).toBe(5);
  });

  it('conflicts with a manager that has since changed a field, and names the field', async () => {
    await garden.createReady({ name: 'fought', spec: { kubernetes: { version: '1.33.7' } } });
    garden.cloud.admin.garden.editShoot('garden-acme', 'fought', {
      manager: 'gardener-controller-manager',
      patch: { spec: { kubernetes: { version: '1.34.2' } } },
    });
    const wish = aShoot({ name: 'fought', spec: { kubernetes: { version: '1.34.3' } } });

    const refused = await garden.apply(wish);
    const forced = await garden.apply(wish, { force: true });

    const writer = expect.stringMatching(
      /^conflict with "gardener-controller-manager" using core\.gardener\.cloud\/v1beta1 at \d{4}-/,
    );
    expect(refused.body).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      code: 409,
      reason: 'Conflict',
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.kubernetes.version', message: writer }] },
    });
    expect(refused.body.message).toMatch(/^Apply failed with 1 conflict: conflict with "gardener-controller-manager"/);
    expect([forced.status, forced.body.spec.kubernetes.version]).toEqual([200, '1.34.3']);
    expect(shareOf(forced.body, 'gardener-controller-manager', 'Update')).toBeUndefined();
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

  it('shares a field that two managers set to the same value', async () => {
    await garden.createReady({ name: 'agreed' });

    const { status, body } = await garden.apply(aShoot({ name: 'agreed' }), { manager: 'other' });

    expect(status).toBe(200);
    expect(shareOf(body, 'other')).toEqual(shareOf(body, 'test'));
  });

  it('conflicts with its own manager after a plain create', async () => {
    const path = `${SHOOTS}?fieldManager=test`;
    await garden.call('POST', path, aShoot({ name: 'plain' }));

    const same = await garden.apply(aShoot({ name: 'plain' }));
    const changed = await garden.apply(aShoot({ name: 'plain', workers: [aWorker({ maximum: 4 })] }));

    expect([same.status, changed.status]).toEqual([200, 409]);
    expect(changed.body.message).toContain('conflict with "test" using core.gardener.cloud/v1beta1 at ');
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

  it('stores nothing in a dry run, but validates and returns the result', async () => {
    const applied = await garden.apply(aShoot({ name: 'dry' }), { dryRun: true });
    const { status } = await garden.call('GET', `${SHOOTS}/dry`);

    expect([applied.status, applied.body.spec.purpose, status]).toEqual([201, 'evaluation', 404]);
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

describe('a write that is not an apply', () => {
  it('takes over the fields that it changes', async () => {
    await garden.createReady({ name: 'taken' });

    const { body } = await garden.call(
      'PATCH',
      `${SHOOTS}/taken?fieldManager=dashboard`,
      { spec: { provider: { workers: [aWorker({ maximum: 4 })] } } },
      'application/merge-patch+json',
    );

    expect(shareOf(body, 'dashboard', 'Update')['f:spec']['f:provider']).toMatchObject({
      'f:workers': { 'k:{"name":"pool-a"}': { 'f:maximum': {} } },
    });
    expect(shareOf(body, 'test')['f:spec']['f:provider']['f:workers']['k:{"name":"pool-a"}']).not.toHaveProperty(
      'f:maximum',
    );
    await garden.waitForShoot('taken', 'healthy', isHealthy);
  });
});
