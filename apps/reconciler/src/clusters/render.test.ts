import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clusterSpecSchema, networkSchema, nodePoolSpecSchema } from '@corral/contracts';
import type { CloudProfile } from '@corral/garden';
import { gardenFeatures, parseShoot, type Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import {
  absent,
  aCondition,
  aDesired,
  allWell,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  present,
  settings,
} from '../../test/support/a-cluster.js';
import { only } from '../../test/support/only.js';
import { decide } from './decide/decide.js';
import { judge } from './judge/judge.js';
import type { Desired, DesiredPool } from './model.js';
import { factsOf, observedFrom, observedHash, runningVersion } from './observe.js';
import { raisedIn } from './raised-images.js';
import { type GardenSettings, gardenSettings, renderShoot, Unrenderable } from './render.js';

const providerApi = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';

const under = (path: string, members: object) =>
  Object.fromEntries(Object.entries(members).map(([key, value]) => [`${path}.${key}`, value]));
/** Leaves with their paths. A worker is `worker0` for short. */
const leavesOf = (value: unknown, path = ''): [path: string, value: unknown][] =>
  typeof value !== 'object' || value === null
    ? [[path.replace(/^spec\.provider\.workers\./, 'worker'), value]]
    : Object.entries(value).flatMap(([key, member]) => leavesOf(member, path === '' ? key : `${path}.${key}`));

describe('rendering', () => {
  const base = aDesired();
  const network = base.spec.network;
  const declaring = (spec: Partial<Desired['spec']>) => aDesired({ spec });
  const connecting = (more: Partial<Desired['spec']['network']>) => declaring({ network: { ...network, ...more } });
  const pooling = (more: Partial<DesiredPool>) => aDesired({ pools: [aPool(more)] });
  const adding = (more: Partial<DesiredPool>) =>
    aDesired({ pools: [aPool(), aPool({ name: 'own', workerName: 'p4d5e6', ...more })] });
  const threePools = aDesired({
    name: 'big',
    spec: { hibernated: true, controlPlaneHA: true, plan: 'monthly' },
    pools: [
      aPool(),
      aPool({ name: 'arm', workerName: 'p2b3c4', machineType: 'cax41', minimum: 0, maximum: 1, autoscalerPriority: 1 }),
      aPool({ name: 'pinned', workerName: 'p3c4d5', image: { name: 'flatcar', version: '4230.2.0' }, maximum: 50 }),
    ],
  });
  const image = { name: 'a', version: '1' };
  const options = { apiVersion: 'os.example/v1', kind: 'Options', hugePages: 2, tuned: true };
  const unpublished = { apiVersion: providerApi, kind: 'WorkerConfig', publicIP: false };
  const tolerance = 'spec.controlPlane.highAvailability.failureTolerance.type';
  const networks = 'spec.provider.infrastructureConfig.networks';
  const imagePath = 'worker0.machine.image';
  const ubuntu = { [`${imagePath}.name`]: 'ubuntu' };
  const pinnedImages = { 'spec.maintenance.autoUpdate.machineImageVersion': false };
  const machine = (type: string, architecture: string | undefined) => under('worker0.machine', { type, architecture });
  const nodeRange = (cidr: string) => ({
    'spec.networking.nodes': cidr,
    [`${networks}.workersConfiguration.cidr`]: cidr,
  });
  const longName = 'a-name-as-long-as-names-of-pools-may-be-50-characters';

  /** What is declared other than in golden/one-pool.yaml, and what differs in the Shoot then. */
  const cases: [what: string, desired: Desired, differs: Record<string, unknown>][] = [
    ['connection', aDesired({ connection: { gardenName: 'conn-2' } }), { 'spec.credentialsBindingName': 'conn-2' }],
    ['its name alone', declaring({ connectionRef: 'other' }), {}],
    [
      'region',
      declaring({ region: 'fsn1' }),
      { 'spec.region': 'fsn1', 'spec.provider.controlPlaneConfig.zone': 'fsn1-dc14', 'worker0.zones.0': 'fsn1-dc14' },
    ],
    ['version', aDesired({ pinnedVersion: '1.35.1' }), { 'spec.kubernetes.version': '1.35.1' }],
    ['version that is not pinned yet', declaring({ kubernetesVersion: '1.35' }), {}],
    ['hibernation', declaring({ hibernated: true }), { 'spec.hibernation.enabled': true }],
    ['high availability', declaring({ controlPlaneHA: true }), { [tolerance]: 'node' }],
    ['protection from deletion', declaring({ deletionProtection: true }), {}],
    ['plan', declaring({ plan: 'annual' }), { 'metadata.annotations.corral.dev/plan': 'annual' }],
    ['node CIDR', connecting({ nodeCIDR: '172.18.0.0/16' }), nodeRange('172.18.0.0/16')],
    ['pod CIDR', connecting({ podCIDR: '100.64.0.0/12' }), { 'spec.networking.pods': '100.64.0.0/12' }],
    ['service CIDR', connecting({ serviceCIDR: '10.112.0.0/20' }), { 'spec.networking.services': '10.112.0.0/20' }],
    ['network', connecting({ existingNetwork: 'backbone' }), { [`${networks}.existingNetwork`]: 'backbone' }],
    [
      'state of a known Shoot',
      aSteadyDesired({ generation: 7, desiredHash: 'sha256:07', known: { shootUid: 'uid-9' } }),
      {
        'metadata.uid': 'uid-9',
        'metadata.annotations.corral.dev/generation': '7',
        'metadata.annotations.corral.dev/desired-hash': 'sha256:07',
      },
    ],
    ['name of a pool', pooling({ name: longName }), { 'worker0.labels.corral.dev/pool': longName }],
    ['machine type', pooling({ machineType: 'cpx51' }), { 'worker0.machine.type': 'cpx51' }],
    ['architecture', pooling({ machineType: 'cax21' }), machine('cax21', 'arm64')],
    ['machine type that is gone', pooling({ machineType: 'gone1' }), machine('gone1', undefined)],
    ['image', pooling({ image: { name: 'ubuntu' } }), ubuntu],
    ['image version', pooling({ image }), { ...pinnedImages, ...under(imagePath, image) }],
    [
      'image options',
      pooling({ image: { name: 'ubuntu', ...options } }),
      { ...ubuntu, ...under(`${imagePath}.providerConfig`, options) },
    ],
    ['pool without public addresses', pooling({ publicIP: false }), under('worker0.providerConfig', unpublished)],
    ['minimum', pooling({ minimum: 2 }), { 'worker0.minimum': 2 }],
    ['minimum of zero, which is one', pooling({ minimum: 0 }), {}],
    ['maximum', pooling({ maximum: 10 }), { 'worker0.maximum': 10 }],
    ['pool with a maximum of zero', adding({ minimum: 0, maximum: 0, image }), {}],
    ['pool of adopted servers', adding({ source: 'pooled', autoscalerPriority: 100, image }), {}],
    ['priority of the only pool', pooling({ autoscalerPriority: 20 }), {}],
  ];

  const rendering: GardenSettings = {
    ...settings,
    features: new Set(gardenFeatures),
    architectureOf: (type: string) => (type.startsWith('gone') ? null : settings.architectureOf(type)),
  };

  describe('a rendered Shoot', () => {
    // `UPDATE_GOLDEN=1` rewrites the files for review.
    it.each([
      ['one-pool', base],
      ['three-pools', threePools],
    ])('equals golden/%s.yaml', (name, desired) => {
      const file = fileURLToPath(new URL(`golden/${name}.yaml`, import.meta.url));
      const manifest = renderShoot(desired, rendering);
      if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, stringify(manifest));

      expect(manifest).toEqual(parse(readFileSync(file, 'utf8')));
    });

    it.each(cases)('follows another %s in exactly its fields', (_what, desired, differs) => {
      const [one, other] = [base, desired].map((each) => new Map(leavesOf(renderShoot(each, rendering))));
      const paths = [...new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])])];
      const changed = paths.filter((path) => one?.get(path) !== other?.get(path));

      expect(Object.fromEntries(changed.map((path) => [path, other?.get(path)]))).toStrictEqual(differs);
    });

    it('has a case for every declarable field', () => {
      const varied = new Set(cases.flatMap(([, desired]) => fieldsThatDiffer(desired)));
      const refused = new Set(refusals.map(([pointer]) => pointer.replace(/\/\d+/, '').slice('/spec/'.length)));
      // The garden does not know it: Corral acts on it itself.
      const unseen = new Set(['hibernationSchedule']);

      expect(
        declarableFields().filter((field) => !varied.has(field) && !refused.has(field) && !unseen.has(field)),
      ).toEqual([]);
    });
  });

  it('names given by a team appear only in labels and annotations, so the garden does not limit their length', () => {
    const desired = aDesired({
      name: 'a-cluster',
      team: { ...base.team, slug: 'a-team' },
      pools: [aPool({ name: 'a-pool' })],
    });
    const { metadata, spec } = renderShoot(desired, settings);
    const { labels: _, annotations: __, ...identity } = metadata;
    const [{ labels, ...worker }] = (spec.provider as { workers: [{ labels: object }] }).workers;

    expect(JSON.stringify([identity, { ...spec, provider: worker }])).not.toMatch(/a-cluster|a-team|a-pool/);
    expect(labels).toEqual({ 'corral.dev/pool': 'a-pool' });
  });

  const refusals: [pointer: string, Desired][] = [
    ['/spec/network/existingNetwork', connecting({ existingNetwork: 'mine' })],
    ['/spec/region', declaring({ region: 'sin' })],
    ['/spec/nodePools/1/publicIP', adding({ publicIP: false })],
    ['/spec/nodePools/1/publicIP', adding({ minimum: 0, maximum: 0, publicIP: false })],
    ['/spec/nodePools/0/image/flavor', pooling({ image: { flavor: 'small' } })],
    ['/spec/nodePools/0/image/name', pooling({ image: { name: 7 } })],
    ['/spec/nodePools/0/image/name', pooling({ image: { version: '24.4.0' } })],
    ['/spec/nodePools', pooling({ minimum: 0, maximum: 0 })],
    ['/spec/nodePools', pooling({ source: 'dedicated' })],
  ];

  describe('a specification that cannot be rendered', () => {
    it.each(refusals)('is refused with pointer %s', (pointer, desired) => {
      const render = () => renderShoot(desired, settings);

      expect(render).toThrow(Unrenderable);
      expect(render).toThrow(expect.objectContaining({ pointer }));
    });

    it('is refused for image options without an image name, even with all features', () => {
      expect(() => renderShoot(pooling({ image: { hugePages: 2 } }), rendering)).toThrow(
        expect.objectContaining({ pointer: '/spec/nodePools/0/image/name' }),
      );
    });

    it.each([
      ['a namespace', aDesired({ namespace: null })],
      ['a version', aDesired({ pinnedVersion: null })],
    ])('is a programming error without %s', (_, desired) => {
      expect(() => renderShoot(desired, settings)).toThrow(TypeError);
    });
  });

  /** Leaves of the schemas, as paths below `spec` with `nodePools` for every pool. */
  function declarableFields(): string[] {
    const { network: _, nodePools: __, ...others } = clusterSpecSchema.properties;
    return [
      ...Object.keys(others),
      ...Object.keys(networkSchema.properties).map((field) => `network/${field}`),
      ...Object.keys(nodePoolSpecSchema.properties).map((field) => `nodePools/${field}`),
    ];
  }

  function fieldsThatDiffer({ spec, pools }: Desired): string[] {
    const differing = (one: object, other: object, prefix = ''): string[] =>
      Object.entries(one)
        .filter(([key, value]) => JSON.stringify(value) !== JSON.stringify((other as Record<string, unknown>)[key]))
        .map(([key]) => `${prefix}${key}`);
    return [
      ...differing(spec, base.spec),
      ...differing(spec.network, network, 'network/'),
      ...pools.flatMap((pool) => differing(pool, aPool(), 'nodePools/')),
    ];
  }

  describe('garden settings', () => {
    const ofGarden = gardenSettings(
      only<CloudProfile>({
        name: 'hcloud',
        regions: [
          { name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: [] }] },
          { name: 'empty', zones: [] },
        ],
        machineTypes: [{ name: 'cax21', cpu: '4', memory: '8Gi', architecture: 'arm64', usable: true }],
      }),
      { networkingType: 'cilium', features: new Set() },
    );

    it('have the zone of a region and the architecture of a machine type, or null without one', () => {
      expect(['hel1', 'empty', 'fsn1'].map(ofGarden.zoneOf)).toEqual(['hel1-dc2', null, null]);
      expect(['cax21', 'cx11'].map(ofGarden.architectureOf)).toEqual(['arm64', null]);
      expect(ofGarden).toMatchObject({ cloudProfileName: 'hcloud', networkingType: 'cilium' });
    });
  });
});

describe('the image of a pool is raised', () => {
  const offered = (name: string, expirations: Readonly<Record<string, string | null>>) => ({
    name,
    versions: Object.entries(expirations).map(([version, expirationDate]) => {
      return { version, classification: 'supported', expirationDate, architectures: ['amd64'] };
    }),
  });
  const images = [
    offered('ubuntu', { '24.4.1': null, '24.4.0': noon.toISOString(), '22.4.10': '2026-11-21T12:00:01.000Z' }),
  ];
  const raisedTo = (declared: Record<string, string>, runs: Record<string, string>) => {
    const desired = aDesired({ pools: [aPool({ image: declared })] });
    const { workers } = factsOf(aShoot(aDesired({ pools: [aPool({ image: runs })] })));
    return raisedIn(desired, workers, images, noon).pools[0]?.raisedImage ?? null;
  };

  const ubuntu = (version: string) => ({ name: 'ubuntu', version });
  const arch = (version: string) => ({ name: 'arch', version });

  it.each([
    ['when the declared version has expired and a later one runs', ubuntu('24.4.0'), ubuntu('24.4.1'), '24.4.1'],
    ['when the declared version is gone from the catalogue', ubuntu('22.4.9'), ubuntu('22.4.10'), '22.4.10'],
    ['when the image is gone from the catalogue', arch('1.0.0'), arch('2.0.0'), '2.0.0'],
    ['never while the declared version is offered', ubuntu('22.4.10'), ubuntu('24.4.1'), null],
    ['never to an earlier version', ubuntu('24.4.2'), ubuntu('24.4.1'), null],
    ['never to another image', ubuntu('24.4.0'), { name: 'arch', version: '99.0.0' }, null],
    ['never without a declared version', { name: 'ubuntu' }, ubuntu('24.4.1'), null],
  ])('%s', (_when, declared, runs, version) => {
    expect(raisedTo(declared, runs)).toBe(version);
  });
});

describe('observing', () => {
  const unseen = aDesired();
  const seen = aSteadyDesired();
  const odd = aShoot(seen, { spec: { kubernetes: { version: 'latest' } } });
  const strange = { 'corral.dev/cluster-id': 'another', 'corral.dev/managed': 'true' };

  describe('a Shoot with the cluster’s name', () => {
    it.each([
      ['ours by its label before its UID is recorded', unseen, aShoot(unseen), 'present'],
      ['foreign by its label', unseen, aShoot(unseen, { labels: strange }), 'foreign'],
      ['foreign without a label', unseen, aShoot(unseen, { labels: {} }), 'foreign'],
      ['ours by its recorded UID', seen, aShoot(seen, { labels: {} }), 'present'],
      ['foreign by its UID despite our label', seen, aShoot(seen, { uid: 'uid-2' }), 'foreign'],
    ])('is %s', (_, desired, shoot, kind) => {
      expect(observedFrom(desired, shoot).kind).toBe(kind);
    });

    it('may be absent', () => {
      expect(observedFrom(unseen, null)).toEqual(absent);
    });
  });

  describe('the facts of a Shoot', () => {
    it('have defaults for a nearly empty Shoot', () => {
      const metadata = { name: 'c1', namespace: 'garden-x', uid: 'u', resourceVersion: '1' };
      const bare = parseShoot({ metadata, spec: { provider: { workers: [null, 7, {}] }, kubernetes: 'odd' } });
      if (bare === null) throw new Error('a Shoot with all that every object has');

      expect(factsOf(bare)).toMatchObject({
        applied: null,
        lastOperation: null,
        kubernetesVersion: null,
        isHighlyAvailable: false,
        problems: [],
        seed: { desired: null, actual: null },
        hibernation: { desired: false, actual: false },
        workers: [{ name: '', machineType: '', minimum: 0, maximum: 0 }],
      });
    });

    it.each([
      ['without our labels', { labels: {} }],
      ['without our annotations', { annotations: { 'corral.dev/generation': '', 'corral.dev/desired-hash': '' } }],
    ])('do not count it as applied %s', (_, more) => {
      const { applied } = factsOf(aShoot(seen, more));

      expect(applied?.hash ?? null).not.toBe(seen.desiredHash);
    });

    it('list the most specific problem first', () => {
      const lastErrors = [{ description: 'context deadline exceeded' }, { codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }];

      expect(factsOf(aShoot(seen, { lastErrors })).problems.map(({ code }) => code)).toEqual([
        'provider_quota_exceeded',
        'internal_error',
      ]);
    });

    it('show whether a problem is from this attempt', () => {
      const lastErrors = [{ lastUpdateTime: minutesLater(2).toISOString() }];
      const isCurrent = (more: object) => factsOf(aShoot(seen, { lastErrors, ...more })).problems[0]?.isCurrent;

      expect(isCurrent({})).toBe(true);
      expect(isCurrent({ retryCycleStartTime: minutesLater(1).toISOString() })).toBe(true);
      expect(isCurrent({ retryCycleStartTime: minutesLater(3).toISOString() })).toBe(false);
      expect(isCurrent({ generation: 2, observedGeneration: 1 })).toBe(false);
    });

    it('name the pools in a problem, and no pool with the same prefix', () => {
      const description = 'Failed while creating shoot--t1a2b3c4--c9f8e7d6-p1a2b3-hel1-dc2-5d8b4-k2x9z';
      const [worker] = (aShoot(seen).spec.provider as { workers: object[] }).workers;
      const workers = [worker, { ...worker, name: 'p1a2b' }];

      expect(
        factsOf(aShoot(seen, { lastErrors: [{ description }], spec: { provider: { workers } } })).problems[0]?.workers,
      ).toEqual(['p1a2b3']);
    });
  });

  it.each([
    ['is the version of the Shoot', present(aShoot(seen)), '1.34.3'],
    ['is null when it is not a semantic version', present(odd), null],
    ['is null without a Shoot', absent, null],
    ['is null for a foreign Shoot', { kind: 'foreign' } as const, null],
  ])('the running version %s', (_, from, version) => {
    expect(runningVersion(from)).toBe(version);
  });

  const lastUpdateTime = minutesLater(9).toISOString();
  const authorityRotation = { phase: 'Prepared', initiatedAt: null, completedAt: null };
  const hashOf = (more: Parameters<typeof aShoot>[1] = {}) => observedHash(aShoot(seen, more));

  describe('the digest of a Shoot', () => {
    it.each<[string, Parameters<typeof aShoot>[1]]>([
      ['a heartbeat', { conditions: allWell.map((each) => ({ ...each, lastUpdateTime })) }],
      ['other messages', { conditions: allWell.map((each) => ({ ...each, message: 'as gardenlet-8 says' })) }],
      ['another resource version', { resourceVersion: '77' }],
      ['another successful regular run', { lastOperation: { lastUpdateTime: minutesLater(99).toISOString() } }],
      ['the start of another attempt', { retryCycleStartTime: minutesLater(99).toISOString() }],
      ['a foreign annotation', { annotations: { 'shoot.gardener.cloud/tasks': 'x' } }],
      ['a foreign label', { labels: { ...aShoot(seen).metadata.labels, 'shoot.gardener.cloud/status': 'healthy' } }],
    ])('does not change with %s', (_, more) => {
      expect(hashOf(more)).toBe(hashOf());
    });

    it.each<[string, Parameters<typeof aShoot>[1]]>([
      ['its API server’s address', { advertisedAddresses: [{ name: 'external', url: 'https://api.example.org' }] }],
      ['progress of its authority rotation', { authorityRotation }],
      ['another UID', { uid: 'uid-2' }],
      ['a change of its specification', { generation: 2 }],
      ['a run that is due', { observedGeneration: 0 }],
      ['a run of the garden', { lastOperation: { state: 'Processing' } }],
      ['its deletion', { deletionTimestamp: minutesLater(9).toISOString() }],
      ['another declaration', { annotations: { 'corral.dev/generation': '0' } }],
      ['an operation annotation', { annotations: { 'gardener.cloud/operation': 'rotate-ca-start' } }],
      ['a type of operation', { lastOperation: { type: 'Migrate' } }],
      ['a state of operation', { lastOperation: { state: 'Failed' } }],
      ['a failure', { lastErrors: [{ codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }] }],
      ['a condition', { conditions: [aCondition('EveryNodeReady', 'False')] }],
      ['a constraint', { constraints: [aCondition('HibernationPossible', 'False')] }],
      ['a seed', { seedName: 'seed-b' }],
      ['a requested seed', { spec: { seedName: 'seed-b' } }],
      ['hibernation', { hibernated: true }],
    ])('changes with %s', (_, more) => {
      expect(hashOf(more)).not.toBe(hashOf());
    });

    it('covers everything relevant: ignored fields change neither the step nor the verdict', () => {
      const facts = fc.record({
        generation: fc.integer({ min: 1, max: 3 }),
        observedGeneration: fc.integer({ min: 1, max: 3 }),
        hibernated: fc.boolean(),
        seedName: fc.constantFrom('seed-hel', 'seed-b'),
        operation: fc.constantFrom('retry', 'rotate-ca-start', undefined),
        status: fc.constantFrom('True', 'False', 'Progressing'),
        codes: fc.constantFrom<string[]>([], ['ERR_INFRA_QUOTA_EXCEEDED']),
        type: fc.constantFrom('Create', 'Reconcile', 'Restore'),
        state: fc.constantFrom('Processing', 'Succeeded', 'Error', 'Failed'),
      });
      const noise = fc.record({
        resourceVersion: fc.string(),
        message: fc.string(),
        taskID: fc.string(),
        technicalID: fc.string(),
        annotation: fc.string(),
      });
      fc.assert(
        fc.property(facts, noise, noise, ({ operation, status, codes, type, state, ...more }, ...noises) => {
          const [one, other] = noises.map(({ message, taskID, annotation, ...unseen }) =>
            aShoot(seen, {
              ...more,
              ...unseen,
              annotations: {
                annotation,
                ...(operation === undefined ? {} : { 'gardener.cloud/operation': operation }),
              },
              conditions: [{ ...aCondition('EveryNodeReady', status), message }],
              lastErrors: [{ taskID, codes }],
              lastOperation: { type, state, description: message },
            }),
          ) as [Shoot, Shoot];

          expect(observedHash(one)).toBe(observedHash(other));
          expect(decide(seen, present(one), minutesLater(9))).toEqual(decide(seen, present(other), minutesLater(9)));
          expect(judge(seen, present(one), minutesLater(9))).toEqual(judge(seen, present(other), minutesLater(9)));
        }),
        { numRuns: 300 },
      );
    });
  });
});
