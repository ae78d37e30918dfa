import { describe, expect, it } from '@jest/globals';
import { parseCloudProfile } from './cloud-profile.js';

const now = new Date('2026-08-01T00:00:00Z');
const aProfile = (spec: object) =>
  parseCloudProfile({ metadata: { name: 'hcloud' }, spec: { type: 'hcloud', ...spec } }, now);

describe('parsing of a CloudProfile', () => {
  it('applies the defaults of Gardener', () => {
    expect(
      aProfile({
        kubernetes: {
          versions: [
            { version: '1.34.3' },
            { version: '1.33.9', classification: 'deprecated', expirationDate: '2026-12-01T00:00:00Z' },
          ],
        },
        machineTypes: [
          { name: 'cpx31', cpu: '4', memory: '8Gi', gpu: '0' },
          { name: 'cax11', cpu: 2, memory: '4Gi', architecture: 'arm64', usable: false },
        ],
        machineImages: [
          {
            name: 'ubuntu',
            versions: [
              { version: '24.4.0', architectures: ['amd64', 'arm64'] },
              { version: '22.4.0', classification: 'preview' },
            ],
          },
        ],
        regions: [{ name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: ['cax11'] }] }, { name: 'ash' }],
        limits: { maxNodesTotal: 100 },
        tomorrow: {},
      }),
    ).toEqual({
      name: 'hcloud',
      type: 'hcloud',
      kubernetesVersions: [
        { version: '1.34.3', classification: 'supported', expirationDate: null },
        { version: '1.33.9', classification: 'deprecated', expirationDate: '2026-12-01T00:00:00Z' },
      ],
      machineTypes: [
        { name: 'cpx31', cpu: '4', memory: '8Gi', architecture: 'amd64', usable: true },
        { name: 'cax11', cpu: '2', memory: '4Gi', architecture: 'arm64', usable: false },
      ],
      images: [
        {
          name: 'ubuntu',
          versions: [
            { version: '24.4.0', classification: 'supported', expirationDate: null, architectures: ['amd64', 'arm64'] },
            { version: '22.4.0', classification: 'preview', expirationDate: null, architectures: ['amd64'] },
          ],
        },
      ],
      regions: [
        { name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: ['cax11'] }] },
        { name: 'ash', zones: [] },
      ],
      maxNodesTotal: 100,
    });
  });

  it.each<[string, [string, string?][], string, string | null]>([
    ['the last begun', [['preview'], ['supported', '2026-07-01'], ['deprecated', '2026-09-01']], 'supported', null],
    ['unavailable before the first', [['preview', '2026-09-01']], 'unavailable', null],
    ['expired after the last', [['supported'], ['expired', '2026-07-31']], 'expired', '2026-07-31'],
    ['the expiry that is to come', [['supported'], ['expired', '2027-01-01']], 'supported', '2027-01-01'],
  ])('reads the lifecycle of a version as its classification: %s', (_what, stages, classification, expirationDate) => {
    const lifecycle = stages.map(([of, startTime]) => ({ classification: of, ...(startTime && { startTime }) }));

    expect(aProfile({ kubernetes: { versions: [{ version: '1.34.3', lifecycle }] } })?.kubernetesVersions).toEqual([
      { version: '1.34.3', classification, expirationDate },
    ]);
  });

  it('reads capabilities as architectures', () => {
    const profile = aProfile({
      machineTypes: [{ name: 'cax11', cpu: '2', memory: '4Gi', capabilities: { architecture: ['arm64'] } }],
      machineImages: [
        {
          name: 'gardenlinux',
          versions: [
            { version: '1.0.0', capabilityFlavors: [{ architecture: ['amd64'] }, { architecture: ['arm64'] }] },
          ],
        },
      ],
    });

    expect(profile?.machineTypes[0]?.architecture).toBe('arm64');
    expect(profile?.images[0]?.versions[0]?.architectures).toEqual(['amd64', 'arm64']);
  });

  it('accepts any values in place of lists', () => {
    const odd = {
      kubernetes: 1,
      machineTypes: [null, {}, 'x'],
      machineImages: {},
      regions: [{}, { name: 'a', zones: 'b' }],
    };

    expect(aProfile(odd)).toMatchObject({
      kubernetesVersions: [],
      machineTypes: [],
      images: [],
      regions: [{ name: 'a', zones: [] }],
    });
  });

  it('rejects a profile without a name', () => {
    expect(parseCloudProfile({ spec: {} }, now)).toBeNull();
  });
});
