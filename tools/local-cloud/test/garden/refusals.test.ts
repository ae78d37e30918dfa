import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aBinding, aProject, aSecret, aShoot } from './objects.js';
import { startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
  await garden.createReady({ name: 'web' });
});
afterAll(() => garden.stop());

const worker = (fields: object) => ({
  workers: [{ name: 'a', minimum: 1, maximum: 1, machine: { type: 'cpx31' }, zones: ['hel1-dc2'], ...fields }],
});

describe('the garden refuses', () => {
  it.each<[string, object, number, string]>([
    ['a Project whose name is too long', aProject('eleven-long'), 422, 'must not exceed 10 characters'],
    [
      'a Shoot whose name is too long with that of its Project',
      aShoot({ name: 'a-name-of-18-signs' }),
      403,
      'must not exceed 21 characters (project: acme; shoot: a-name-of-18-signs)',
    ],
    ['a binding without its Secret', aBinding('other', 'nowhere'), 403, 'secrets "nowhere" not found'],
    ['another region', aShoot({ name: 'a', spec: { region: 'mars' } }), 403, 'spec.region: Unsupported value: "mars"'],
    [
      'another zone',
      aShoot({ name: 'a', ...worker({ zones: ['fsn1-dc14'] }) }),
      403,
      'spec.provider.workers[0].zones[0]: Unsupported value: "fsn1-dc14": supported values: "hel1-dc2"',
    ],
    [
      'a machine type that the region does not have',
      aShoot({ name: 'a', spec: { region: 'hil' }, ...worker({ machine: { type: 'cax11' }, zones: ['hil-dc1'] }) }),
      403,
      'workers[0].machine.type: Unsupported value: "cax11"',
    ],
    [
      'an image of another architecture',
      aShoot({
        name: 'a',
        ...worker({ machine: { type: 'cax11', image: { name: 'flatcar', version: '4230.2.3' } } }),
      }),
      403,
      'workers[0].machine.image.version: Unsupported value: "4230.2.3"',
    ],
  ])('%s', async (_what, object, status, message) => {
    const { status: answered, body } = await garden.apply(object);

    expect([answered, body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  it('to change the Secret of a binding', async () => {
    await garden.apply(aSecret('second', 'token'));

    const { status, body } = await garden.apply(aBinding('conn', 'second'));

    expect([status, body.message]).toEqual([
      422,
      expect.stringContaining('credentialsRef: Invalid value: field is imm'),
    ]);
  });

  it('a label selector that it cannot read', async () => {
    const { status, body } = await garden.call('GET', '/api/v1/secrets?labelSelector=a%3E1');

    expect([status, body.message]).toEqual([400, 'unable to parse requirement: "a>1"']);
  });
});

it('what the catalogue offers no longer stays in a Shoot that has it', async () => {
  const { regions } = garden.cloud.admin.garden.catalogue().spec;
  garden.cloud.admin.garden.patchCloudProfile({ regions: regions.filter(({ name }) => name !== 'hel1') });

  const { status } = await garden.patch('web', { spec: { purpose: 'testing' } });

  garden.cloud.admin.garden.patchCloudProfile({ regions });
  expect(status).toBe(200);
});

it('a Shoot whose token may only read fails with the words of the provider', async () => {
  garden.cloud.admin.addProjectToken('reader', { readOnly: true });
  await garden.apply(aSecret('reader', 'reader'));
  await garden.apply(aBinding('reader'));
  await garden.apply(aShoot({ name: 'poor', spec: { credentialsBindingName: 'reader' } }));

  const shoot = await garden.waitForShoot('poor', 'failed', ({ status }) => status.lastOperation?.state === 'Failed');

  const [{ codes, description }] = shoot.status.lastErrors;
  expect(codes).toEqual(['ERR_INFRA_UNAUTHORIZED']);
  expect(description).toContain('the token is only allowed to perform GET requests (token_readonly)');
});
