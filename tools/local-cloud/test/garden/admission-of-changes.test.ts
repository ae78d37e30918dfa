import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aWorker, NAMESPACE, shootWith } from './a-shoot.js';
import { hasState, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
});
afterAll(() => garden.stop());

// biome-ignore lint/suspicious/noExplicitAny: tests make specs of every shape, wrong ones too
type Spec = any;

const dryRun = (shoot: Spec) => garden.call('POST', `${SHOOTS}?dryRun=All`, shoot);

describe('an existing Shoot', () => {
  const names = ['fixed', 'old', 'guarded'];
  beforeAll(() =>
    Promise.all(
      names.map((name) =>
        garden.createReady({ name, spec: { kubernetes: { version: name === 'old' ? '1.32.11' : '1.33.6' } } }),
      ),
    ),
  );

  const change = (name: string, spec: Spec) =>
    garden.call('PATCH', `${SHOOTS}/${name}?dryRun=All`, { spec }, 'application/merge-patch+json');
  const workers = (fields: Spec) => ({ provider: { workers: [aWorker(fields)] } });
  const networks = { workersConfiguration: { cidr: '10.251.0.0/16' } };

  it.each<[string, Spec, number, string]>([
    ['its region', { region: 'fsn1' }, 422, 'spec.region: Invalid value: "fsn1": field is immutable'],
    [
      'its provider',
      { provider: { type: 'aws' } },
      422,
      'spec.provider.type: Invalid value: "aws": field is immutable',
    ],
    ['its type of network', { networking: { type: 'cilium' } }, 422, 'spec.networking.type: Invalid value'],
    ['its pods', { networking: { pods: '10.245.0.0/16' } }, 422, 'spec.networking.pods: Invalid value'],
    [
      'its services',
      { networking: { services: null } },
      422,
      'spec.networking.services: Invalid value: null: field is immutable',
    ],
    ['its binding away', { credentialsBindingName: null }, 422, 'spec.credentialsBindingName: Required value'],
    ['to an older patch', { kubernetes: { version: '1.33.5' } }, 422, 'kubernetes version downgrade is not supported'],
    ['two minor versions up', { kubernetes: { version: '1.35.1' } }, 422, 'cannot skip a minor version'],
    ['to no workers', { provider: { workers: [] } }, 422, 'at least one active (workers[i].maximum > 0) worker pool'],
    ['its seed', { seedName: 'seed-us' }, 403, 'please use the shoots/binding subresource'],
    ['its worker network', { provider: { infrastructureConfig: { networks } } }, 403, 'networks: Invalid value'],
    ['the zones of a pool', workers({ zones: ['hel1-dc2', 'hel1-dc2'] }), 403, 'Duplicate value: "hel1-dc2"'],
    ['its machines to an unknown type', workers({ machine: { type: 'nope' } }), 403, 'Unsupported value: "nope"'],
  ])('does not change %s', async (_case, spec, expected, message) => {
    const { status, body } = await change('fixed', spec);

    expect([status, body.message]).toEqual([expected, expect.stringContaining(message)]);
  });

  it.each<[string, Spec]>([
    ['one minor version up', { kubernetes: { version: '1.34.3' } }],
    ['its node range', { networking: { nodes: '10.252.0.0/16' } }],
    ['its pool to another machine type', workers({ machine: { type: 'cpx41' } })],
    ['its pools', { provider: { workers: [aWorker(), aWorker({ name: 'pool-b', maximum: 1 })] } }],
    ['to high availability', { controlPlane: { highAvailability: { failureTolerance: { type: 'zone' } } } }],
  ])('may change %s', async (_case, spec) => {
    const { status, body } = await change('fixed', spec);

    expect([status, body.message]).toEqual([200, undefined]);
  });

  it('keeps the image of a pool that the caller omits', async () => {
    await garden.createReady({
      name: 'imaged',
      workers: [aWorker({ machine: { type: 'cpx31', image: { name: 'ubuntu', version: '24.4.0' } } })],
    });

    const kept = await change('imaged', workers({ labels: { a: 'b' } }));
    const added = await change('imaged', { provider: { workers: [aWorker(), aWorker({ name: 'pool-b' })] } });

    const versions = ({ body }: Spec) => body.spec.provider.workers.map(({ machine }: Spec) => machine.image.version);
    expect([versions(kept), versions(added)]).toEqual([['24.4.0'], ['24.4.0', '24.4.1']]);
  });

  it.each<[string, Spec, Spec, Spec]>([
    [
      'an image',
      { image: { name: 'ubuntu', version: '24.4.0' } },
      workers({ machine: { type: 'cpx31', image: { name: 'ubuntu', version: '24.4.0' } }, maximum: 5 }),
      workers({ name: 'pool-b', machine: { type: 'cpx31', image: { name: 'ubuntu', version: '24.4.0' } } }),
    ],
    [
      'a machine type',
      { machineType: 'cpx31' },
      workers({ maximum: 5 }),
      workers({ name: 'pool-b', machine: { type: 'cpx31' } }),
    ],
  ])('keeps %s that has expired, of which new uses are refused', async (_what, expiry, kept, taken) => {
    const name = `kept-${Object.keys(expiry)[0]?.slice(0, 2)}`;
    const image = { name: 'ubuntu', version: '24.4.0' };
    await garden.createReady({ name, workers: [aWorker({ machine: { type: 'cpx31', image } })] });
    const whole = (await garden.call('GET', '/apis/core.gardener.cloud/v1beta1/cloudprofiles/hcloud')).body.spec;

    const expired = await garden.cloud.callAdmin('POST', '/garden/expiries', expiry);
    const [scaled, added] = [await change(name, kept), await change(name, taken)];
    garden.cloud.admin.garden.patchCloudProfile(whole);

    expect([expired.status, scaled.status, added.status]).toEqual([200, 200, 403]);
    expect(added.body.message).toContain('Unsupported value: "');
  });

  it('is not set back to an image that has expired', async () => {
    const machine = (version: string) => ({ type: 'cpx31', image: { name: 'ubuntu', version } });
    await garden.createReady({ name: 'raised', workers: [aWorker({ machine: machine('24.4.1') })] });
    const offered = await change('raised', workers({ machine: machine('24.4.0') }));

    garden.cloud.admin.garden.expire({ image: { name: 'ubuntu', version: '24.4.0' } });
    const { status, body } = await change('raised', workers({ machine: machine('24.4.0') }));

    expect([offered.status, status]).toEqual([200, 403]);
    expect(body.message).toContain(
      'spec.provider.workers[0].machine.image.version: Unsupported value: "24.4.0": supported values: "ubuntu:24.4.1"',
    );
  });

  it('is not compared with the catalogue where it is unchanged', async () => {
    garden.cloud.admin.garden.expire({ kubernetesVersion: '1.32.11' });

    const edited = await change('old', { purpose: 'testing' });
    const created = await dryRun(shootWith((spec) => (spec.kubernetes.version = '1.32.11')));

    expect([edited.status, created.status]).toEqual([200, 403]);
  });

  it('cannot disable high availability', async () => {
    const ha = (type: string | null) => ({
      controlPlane: type === null ? null : { highAvailability: { failureTolerance: { type } } },
    });
    await garden.patch('guarded', { spec: ha('node') });

    const other = await change('guarded', ha('zone'));
    const none = await change('guarded', ha(null));

    expect([other.status, none.status]).toEqual([422, 422]);
    expect(other.body.message).toContain('failureTolerance.type: Invalid value: "zone": field is immutable');
  });

  it('cannot enable high availability while it hibernates', async () => {
    await garden.createReady({ name: 'asleep', spec: { hibernation: { enabled: true } } });

    const { status, body } = await change('asleep', {
      controlPlane: { highAvailability: { failureTolerance: { type: 'node' } } },
    });

    expect([status, body.message]).toEqual([422, expect.stringContaining('Shoot is currently hibernated')]);
  });

  it('cannot be changed while its control plane migrates', async () => {
    await garden.createReady({ name: 'moving', annotations: { 'confirmation.gardener.cloud/deletion': 'true' } });
    garden.cloud.admin.garden.addShootFaults({ name: 'moving', operations: ['Migrate'], effect: { stuck: true } });
    garden.cloud.admin.garden.migrateShoot(NAMESPACE, 'moving');
    await garden.waitForShoot('moving', 'moving', hasState('Processing', 'Migrate'));

    const edited = await change('moving', { purpose: 'testing' });
    const labelled = await garden.patch('moving', { metadata: { labels: { a: 'b' } } });
    const deleted = await garden.call('DELETE', `${SHOOTS}/moving`);

    expect([edited.status, labelled.status, deleted.status]).toEqual([403, 200, 403]);
    expect(edited.body.message).toContain(
      'cannot change shoot spec during Migrate operation that is in state Processing',
    );
    expect(deleted.body.message).toContain('cannot mark shoot for deletion during Migrate operation');
    garden.cloud.admin.garden.clearShootFaults();
    const restored = await garden.waitForShoot('moving', 'restored', hasState('Succeeded', 'Restore'));
    expect([restored.spec.seedName, restored.status.seedName]).toEqual(['seed-eu-2', 'seed-eu-2']);
  });
});

describe('actions that a project member may not perform', () => {
  it.each([
    [
      'DELETE',
      '/apis/core.gardener.cloud/v1beta1/cloudprofiles/hcloud',
      'cannot delete resource "cloudprofiles" in API group "core.gardener.cloud" at the cluster scope',
    ],
  ])('%s %s is refused with the message of RBAC', async (method, path, message) => {
    const { status, body } = await garden.call(method, path);

    expect([status, body.reason]).toEqual([403, 'Forbidden']);
    expect(body.message).toContain(`is forbidden: User "system:serviceaccount:garden:technical-user" ${message}`);
  });
});
