import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aShoot, aWorker, shootWith } from './a-shoot.js';
import { SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;

beforeAll(async () => {
  garden = await startTestGarden();
});

afterAll(() => garden.stop());

// biome-ignore lint/suspicious/noExplicitAny: tests make specs of every shape, wrong ones too
type Spec = any;

describe('admission', () => {
  const dryRun = (shoot: Spec) => garden.call('POST', `${SHOOTS}?dryRun=All`, shoot);

  const oneWorker = (fields: Spec) => shootWith(() => {}, { workers: [aWorker(fields)] });

  describe('a new Shoot', () => {
    it.each<[string, Spec, string]>([
      ['with a name that is no DNS label', aShoot({ name: 'Web' }), 'metadata.name: Invalid value'],
      [
        'whose name is too long together with its project',
        aShoot({ name: 'a'.repeat(18) }),
        'must not exceed 21 characters (project: acme; shoot: aaaaaaaaaaaaaaaaaa)',
      ],
      [
        'without a region',
        shootWith((spec) => (spec.region = '')),
        'spec.region: Required value: must specify a region',
      ],
      [
        'without credentials',
        shootWith((spec) => delete spec.credentialsBindingName),
        'spec.credentialsBindingName: Required value',
      ],
      [
        'with an unknown kind of high availability',
        shootWith((spec) => (spec.controlPlane = { highAvailability: { failureTolerance: { type: 'region' } } })),
        'failureTolerance.type: Unsupported value: "region": supported values: "node", "zone"',
      ],
      [
        'with a range that is none',
        shootWith((spec) => (spec.networking.pods = '10.244.0.0')),
        'spec.networking.pods: Invalid value: "10.244.0.0": invalid CIDR address',
      ],
      [
        'with a range that is not canonical',
        shootWith((spec) => (spec.networking.pods = '10.244.1.0/16')),
        'must be valid canonical CIDR: 10.244.0.0/16',
      ],
      [
        'without a type of network',
        shootWith((spec) => delete spec.networking.type),
        'spec.networking.type: Required value: must specify a networking type',
      ],
      [
        'with a pool name of 16 characters',
        oneWorker({ name: 'a'.repeat(16) }),
        'Too long: may not be more than 15 bytes',
      ],
      ['with a pool name in capitals', oneWorker({ name: 'A' }), 'spec.provider.workers[0].name: Invalid value: "A"'],
      [
        'with two pools of one name',
        shootWith(() => {}, { workers: [aWorker(), aWorker()] }),
        'spec.provider.workers[1].name: Duplicate value: "pool-a"',
      ],
      [
        'with a smaller maximum than minimum',
        oneWorker({ minimum: 3, maximum: 2 }),
        'workers[0].maximum: Forbidden: maximum value must not be less than minimum value',
      ],
      ['with a negative minimum', oneWorker({ minimum: -1 }), 'minimum value must not be negative'],
      [
        'without room for system components',
        oneWorker({ systemComponents: { allow: false } }),
        'at least one active (workers[i].maximum > 0) worker pool with systemComponents.allow=true needed',
      ],
    ])('%s is invalid (422)', async (_case, shoot, message) => {
      const { status, body } = await dryRun(shoot);

      expect(body.message).toContain(message);
      expect([status, body.reason]).toEqual([422, 'Invalid']);
      expect(body.details).toMatchObject({ kind: 'Shoot', group: 'core.gardener.cloud', name: shoot.metadata.name });
      expect(body.details.causes[0]).toEqual({
        reason: expect.stringMatching(/^FieldValue/),
        field: expect.any(String),
        message: expect.any(String),
      });
    });

    it.each<[string, Spec, string]>([
      [
        'with a binding that is not there',
        shootWith((spec) => (spec.credentialsBindingName = 'gone')),
        'credentialsbinding.security.gardener.cloud "gone" not found',
      ],
      [
        'in an unknown region',
        shootWith((spec) => (spec.region = 'mars')),
        'spec.region: Unsupported value: "mars": supported values: "fsn1", "nbg1", "hel1", "ash", "hil", "sin"',
      ],
      [
        'with an unknown kind of network',
        shootWith((spec) => (spec.networking.type = 'weave')),
        'given Shoot uses non-registered networking type: spec.networking.type ("weave")',
      ],
      [
        'of an unknown version',
        shootWith((spec) => (spec.kubernetes.version = '1.34.99')),
        'spec.kubernetes.version: Unsupported value: "1.34.99": supported values: "1.36.0 (preview)", "1.35.1"',
      ],
      [
        'of a version that has expired',
        shootWith((spec) => (spec.kubernetes.version = '1.31.14')),
        'spec.kubernetes.version: Unsupported value: "1.31.14"',
      ],
      [
        'of another provider',
        shootWith((spec) => (spec.provider.type = 'aws')),
        'provider type in shoot must equal provider type of referenced CloudProfile: "hcloud"',
      ],
      [
        'with an unknown machine type',
        oneWorker({ machine: { type: 'cpx99' } }),
        'spec.provider.workers[0].machine.type: Unsupported value: "cpx99": supported values: "ccx13"',
      ],
      [
        'with a machine type that is not usable',
        oneWorker({ machine: { type: 'cx11' } }),
        'machine.type: Unsupported value: "cx11"',
      ],
      [
        'with a machine type that its zone does not have',
        shootWith(
          (spec) => {
            spec.region = 'ash';
            spec.provider.controlPlaneConfig.zone = 'ash-dc1';
          },
          { workers: [aWorker({ zones: ['ash-dc1'], machine: { type: 'cx22' } })] },
        ),
        'machine.type: Unsupported value: "cx22"',
      ],
      [
        'with a machine type of another architecture',
        oneWorker({ machine: { type: 'cax11', architecture: 'amd64' } }),
        'machine.type: Unsupported value: "cax11"',
      ],
      [
        'with an unknown image',
        oneWorker({ machine: { type: 'cpx31', image: { name: 'windows' } } }),
        'Invalid value: "windows": image is not supported',
      ],
      [
        'with an unknown version of an image',
        oneWorker({ machine: { type: 'cpx31', image: { name: 'ubuntu', version: '1.2.3' } } }),
        'workers[0].machine.image.version: Unsupported value: "1.2.3": supported values: "ubuntu:24.4.0"',
      ],
      [
        'with a version of an image that has expired',
        oneWorker({ machine: { type: 'cpx31', image: { name: 'ubuntu', version: '22.4.5' } } }),
        'machine.image.version: Unsupported value: "22.4.5"',
      ],
      [
        'with an image of another architecture',
        oneWorker({ machine: { type: 'cax11', image: { name: 'gardenlinux', version: '1592.14.0' } } }),
        'machine.image.version: Unsupported value: "1592.14.0"',
      ],
      [
        'with a zone of another region',
        oneWorker({ zones: ['hel1-dc2', 'fsn1-dc14'] }),
        'workers[0].zones[1]: Unsupported value: "fsn1-dc14": supported values: "hel1-dc2"',
      ],
      [
        'with networks that overlap',
        shootWith((spec) => (spec.networking.services = '10.244.128.0/20')),
        'shoot pod network intersects with shoot service network',
      ],
      [
        'with more nodes than the catalogue allows',
        oneWorker({ minimum: 201, maximum: 300 }),
        'the total minimum node count of all worker pools must not exceed the limit of 200',
      ],
    ])('%s is refused by admission (403)', async (_case, shoot, message) => {
      const { status, body } = await dryRun(shoot);

      expect(body.message).toContain('shoots.core.gardener.cloud "judged" is forbidden: ');
      expect(body.message).toContain(message);
      expect([status, body.reason]).toEqual([403, 'Forbidden']);
    });

    it.each<[string, Spec, string]>([
      ['with a pool that may shrink to nothing', oneWorker({ minimum: 0 }), 'auto scaling to 0 is not supported'],
      ['without zones', oneWorker({ zones: [] }), 'workers[0].zones: Required value: at least one zone'],
      [
        'with a field that the provider does not know',
        shootWith((spec) => (spec.provider.infrastructureConfig.networks.size = 1)),
        'strict decoding error: unknown field "networks.size"',
      ],
      [
        'with a config of another kind',
        shootWith((spec) => (spec.provider.infrastructureConfig.kind = 'Config')),
        'no kind "Config" is registered for version',
      ],
      [
        'without networks',
        shootWith((spec) => delete spec.provider.infrastructureConfig.networks),
        'networks.workersConfiguration or networks.workers is a required field',
      ],
      [
        'whose control plane has no zone',
        shootWith((spec) => delete spec.provider.controlPlaneConfig.zone),
        'controlPlaneConfig.zone: Required value',
      ],
      [
        'whose control plane is where no workers are',
        shootWith((spec) => (spec.provider.controlPlaneConfig.zone = 'fsn1-dc14')),
        'must be part of at least one worker zone',
      ],
      [
        'whose servers would have names of more than 63 characters',
        aShoot({ name: 'a'.repeat(17), workers: [aWorker({ name: 'b'.repeat(12) })] }),
        'would have 64 characters, more than 63',
      ],
    ])('%s is refused by the provider (403)', async (_case, shoot, message) => {
      const { status, body } = await dryRun(shoot);

      expect(body.message).toContain(
        'admission webhook "validation.hcloud.provider.extensions.gardener.cloud" denied the request: ',
      );
      expect(body.message).toContain(message);
      expect([status, body.reason]).toEqual([403, 'Forbidden']);
    });

    describe('with fields that only some versions of the provider extension know', () => {
      const provider = { apiVersion: 'hcloud.provider.extensions.gardener.cloud/v1alpha1' };
      const providerConfig = { ...provider, kind: 'WorkerConfig', publicIP: false };
      const image = { name: 'ubuntu', providerConfig: { hugePages: 2 } };
      const cases: [string, Spec, string][] = [
        [
          'existingNetwork',
          shootWith((spec) => (spec.provider.infrastructureConfig.networks.existingNetwork = 'backbone')),
          'unknown field "networks.existingNetwork"',
        ],
        ['publicIP', oneWorker({ providerConfig }), 'unknown field "publicIP"'],
        ['imageOptions', oneWorker({ machine: { type: 'cpx31', image } }), 'images have no options here'],
      ];
      afterEach(() => garden.cloud.callAdmin('PATCH', '/garden/settings', { extensionFields: [] }));

      it.each(cases)(
        '%s is refused by versions without it, and accepted by versions with it',
        async (field, shoot, message) => {
          const refused = await dryRun(shoot);
          await garden.cloud.callAdmin('PATCH', '/garden/settings', { extensionFields: [field] });
          const taken = await dryRun(shoot);

          expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining(message)]);
          expect([taken.status, taken.body.message]).toEqual([201, undefined]);
        },
      );

      it('never move an existing Shoot to another network', async () => {
        await garden.cloud.callAdmin('PATCH', '/garden/settings', { extensionFields: ['existingNetwork'] });
        const settled = aShoot({ name: 'settled' });
        await garden.create(settled);

        const { status, body } = await garden.patch('settled', {
          spec: { provider: { infrastructureConfig: { networks: { existingNetwork: 'backbone' } } } },
        });

        expect([status, body.message]).toEqual([403, expect.stringContaining('field is immutable')]);
      });
    });
  });

  describe('defaults of admission', () => {
    it('match those of Gardener', async () => {
      const shoot = oneWorker({ machine: { type: 'cax11' } });

      const { body } = await dryRun(shoot);

      expect(body.spec).toMatchObject({
        purpose: 'evaluation',
        maintenance: {
          autoUpdate: { kubernetesVersion: true, machineImageVersion: true },
          timeWindow: { begin: expect.stringMatching(/^\d{6}\+0000$/), end: expect.stringMatching(/^\d{6}\+0000$/) },
        },
        networking: { ipFamilies: ['IPv4'] },
      });
      expect(body.spec.provider.workers[0]).toMatchObject({
        machine: { architecture: 'arm64', image: { name: 'ubuntu', version: '24.4.1' } },
        maxSurge: 1,
        maxUnavailable: 0,
        cri: { name: 'containerd' },
        systemComponents: { allow: true },
      });
      expect(body.status).toEqual({
        hibernated: false,
        technicalID: '',
        uid: '',
      });
    });
  });
});

describe('admission of changes', () => {
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
      [
        'to an older patch',
        { kubernetes: { version: '1.33.5' } },
        422,
        'kubernetes version downgrade is not supported',
      ],
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
  });
});
