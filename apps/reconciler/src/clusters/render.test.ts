import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clusterSpecSchema, networkSchema, nodePoolSpecSchema } from '@corral/contracts';
import { gardenFeatures } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { aDesired, aPool, aSteadyDesired, settings } from '../../test/support/a-cluster.js';
import type { Desired } from './model.js';
import type { GardenSettings } from './render.js';
import { gardenSettings, renderShoot, Unrenderable } from './render.js';

const folder = fileURLToPath(new URL('golden', import.meta.url));
const base = aDesired();
const network = base.spec.network;

/** The input of each file in `golden`. `UPDATE_GOLDEN=1` rewrites the files for review. */
const golden: Record<string, Desired> = {
  'one-pool': base,
  connection: aDesired({ spec: { connectionRef: 'other' }, connection: { ref: 'other', gardenName: 'conn-2' } }),
  region: aDesired({ spec: { region: 'fsn1' } }),
  'kubernetes-version': aDesired({ spec: { kubernetesVersion: '1.35' }, pinnedVersion: '1.35.1' }),
  hibernated: aDesired({ spec: { hibernated: true } }),
  'control-plane-ha': aDesired({ spec: { controlPlaneHA: true } }),
  plan: aDesired({ spec: { plan: 'annual' } }),
  'node-range': aDesired({ spec: { network: { ...network, nodeCIDR: '172.18.0.0/16' } } }),
  'pod-range': aDesired({ spec: { network: { ...network, podCIDR: '100.64.0.0/12' } } }),
  'service-range': aDesired({ spec: { network: { ...network, serviceCIDR: '10.112.0.0/20' } } }),
  'known-shoot': aSteadyDesired({ generation: 7, desiredHash: 'sha256:07', known: { shootUid: 'uid-9' } }),
  'pool-name': aDesired({ pools: [aPool({ name: 'a-name-as-long-as-names-of-pools-may-be-50-characters' })] }),
  'pool-machine': aDesired({ pools: [aPool({ machineType: 'cpx51' })] }),
  'pool-arm': aDesired({ pools: [aPool({ machineType: 'cax21' })] }),
  'pool-machine-unknown': aDesired({ pools: [aPool({ machineType: 'gone1' })] }),
  'pool-image-name': aDesired({ pools: [aPool({ image: { name: 'ubuntu' } })] }),
  'pool-image-version': aDesired({ pools: [aPool({ image: { name: 'ubuntu', version: '24.4.0' } })] }),
  'pool-image-options': aDesired({
    pools: [
      aPool({ image: { name: 'ubuntu', apiVersion: 'os.example/v1', kind: 'Options', hugePages: 2, tuned: true } }),
    ],
  }),
  'pool-without-public-address': aDesired({ pools: [aPool({ publicIP: false })] }),
  'existing-network': aDesired({ spec: { network: { ...network, existingNetwork: 'backbone' } } }),
  'pool-minimum': aDesired({ pools: [aPool({ minimum: 2 })] }),
  'pool-minimum-zero': aDesired({ pools: [aPool({ minimum: 0 })] }),
  'pool-maximum': aDesired({ pools: [aPool({ maximum: 10 })] }),
  'pool-maximum-zero': aDesired({
    pools: [
      aPool(),
      aPool({ name: 'idle', workerName: 'p0f0f0', minimum: 0, maximum: 0, image: { name: 'a', version: '1' } }),
    ],
  }),
  'pool-adopted': aDesired({
    pools: [
      aPool(),
      aPool({
        name: 'own',
        workerName: 'p4d5e6',
        source: 'pooled',
        autoscalerPriority: 100,
        image: { name: 'a', version: '1' },
      }),
    ],
  }),
  'pool-priorities': aDesired({
    pools: [
      aPool({ autoscalerPriority: 1 }),
      aPool({ name: 'dear', workerName: 'p2b3c4', machineType: 'cpx51', autoscalerPriority: 0 }),
    ],
  }),
  'pool-priorities-alike': aDesired({ pools: [aPool({ autoscalerPriority: 20 })] }),
  'three-pools': aDesired({
    name: 'big',
    spec: { hibernated: true, controlPlaneHA: true, plan: 'monthly' },
    pools: [
      aPool(),
      aPool({ name: 'arm', workerName: 'p2b3c4', machineType: 'cax41', minimum: 0, maximum: 1, autoscalerPriority: 1 }),
      aPool({ name: 'pinned', workerName: 'p3c4d5', image: { name: 'flatcar', version: '4230.2.0' }, maximum: 50 }),
    ],
  }),
};

const rendering: GardenSettings = {
  ...settings,
  features: new Set(gardenFeatures),
  architectureOf: (type: string) => (type.startsWith('gone') ? null : settings.architectureOf(type)),
};

describe('a rendered Shoot', () => {
  it.each(Object.entries(golden))('equals golden/%s.yaml', (name, desired) => {
    const file = `${folder}/${name}.yaml`;
    const manifest = renderShoot(desired, rendering);
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, stringify(manifest));

    expect(manifest).toEqual(parse(readFileSync(file, 'utf8')));
  });

  it('has exactly one file per case', () => {
    expect(readdirSync(folder).sort()).toEqual(
      Object.keys(golden)
        .map((name) => `${name}.yaml`)
        .sort(),
    );
  });

  it('differs from the base case except for a zero minimum, pools without workers and equal priorities', () => {
    const plain = renderShoot(base, rendering);
    const same = Object.entries(golden).filter(([name, desired]) => {
      return name !== 'one-pool' && JSON.stringify(renderShoot(desired, rendering)) === JSON.stringify(plain);
    });

    expect(same.map(([name]) => name)).toEqual([
      'pool-minimum-zero',
      'pool-maximum-zero',
      'pool-adopted',
      'pool-priorities-alike',
    ]);
  });

  it('has a case for every declarable field', () => {
    const varied = new Set(Object.values(golden).flatMap((desired) => fieldsThatDiffer(desired)));
    const refused = new Set(refusals.map(([pointer]) => pointer.replace(/\/\d+/, '').slice('/spec/'.length)));

    expect(declarableFields().filter((field) => !varied.has(field) && !refused.has(field))).toEqual([]);
  });
});

describe('names given by a team', () => {
  it('appear only in labels and annotations, so the garden does not limit their length', () => {
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
});

describe('the node CIDR', () => {
  it('is the same in both fields of the Shoot', () => {
    for (const desired of Object.values(golden)) {
      const { networking, provider } = renderShoot(desired, rendering).spec as Record<string, Record<string, unknown>>;

      expect(provider?.infrastructureConfig).toMatchObject({
        networks: { workersConfiguration: { cidr: networking?.nodes } },
      });
    }
  });
});

const refusals: [pointer: string, Desired][] = [
  ['/spec/network/existingNetwork', aDesired({ spec: { network: { ...network, existingNetwork: 'mine' } } })],
  ['/spec/region', aDesired({ spec: { region: 'sin' } })],
  ['/spec/nodePools/1/publicIP', aDesired({ pools: [aPool(), aPool({ publicIP: false })] })],
  ['/spec/nodePools/0/image/flavor', aDesired({ pools: [aPool({ image: { flavor: 'small' } })] })],
  ['/spec/nodePools/0/image/name', aDesired({ pools: [aPool({ image: { name: 7 } })] })],
  ['/spec/nodePools/0/image/name', aDesired({ pools: [aPool({ image: { version: '24.4.0' } })] })],
  ['/spec/nodePools', aDesired({ pools: [aPool({ minimum: 0, maximum: 0 })] })],
  ['/spec/nodePools', aDesired({ pools: [aPool({ source: 'dedicated' })] })],
];

describe('a specification that cannot be rendered', () => {
  it.each(refusals)('is refused with pointer %s', (pointer, desired) => {
    const render = () => renderShoot(desired, settings);

    expect(render).toThrow(Unrenderable);
    expect(render).toThrow(expect.objectContaining({ pointer }));
  });

  it('is refused for image options without an image name, even with all features', () => {
    const desired = aDesired({ pools: [aPool({ image: { hugePages: 2 } })] });

    expect(() => renderShoot(desired, rendering)).toThrow(
      expect.objectContaining({ pointer: '/spec/nodePools/0/image/name' }),
    );
  });

  it('is refused even in a pool without a worker', () => {
    const desired = aDesired({ pools: [aPool(), aPool({ minimum: 0, maximum: 0, publicIP: false })] });

    expect(() => renderShoot(desired, settings)).toThrow(
      expect.objectContaining({ pointer: '/spec/nodePools/1/publicIP' }),
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
    {
      name: 'hcloud',
      regions: [
        { name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: [] }] },
        { name: 'empty', zones: [] },
      ],
      machineTypes: [{ name: 'cax21', cpu: '4', memory: '8Gi', architecture: 'arm64', usable: true }],
    },
    { networkingType: 'cilium', features: new Set() },
  );

  it('return the zone of a region, or null when the catalogue has none', () => {
    expect(['hel1', 'empty', 'fsn1'].map(ofGarden.zoneOf)).toEqual(['hel1-dc2', null, null]);
  });

  it('return the architecture of a machine type, or null for an unknown one', () => {
    expect(['cax21', 'cx11'].map(ofGarden.architectureOf)).toEqual(['arm64', null]);
  });

  it('contain the cloud profile and the networking type', () => {
    expect(ofGarden).toMatchObject({ cloudProfileName: 'hcloud', networkingType: 'cilium' });
  });
});
