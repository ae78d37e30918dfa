import type { CloudProfile, ImageVersion } from './kinds.js';

const past = '2026-01-31T23:59:59Z';
const farAway = '2099-12-31T23:59:59Z';

type MachineType = CloudProfile['spec']['machineTypes'][number];

const machineType = (
  name: string,
  architecture: 'amd64' | 'arm64',
  [cpu, memory, disk]: readonly [cpu: number, gigabytes: number, disk: number],
  usable = true,
): MachineType => ({
  name,
  architecture,
  cpu: String(cpu),
  gpu: '0',
  memory: `${memory}Gi`,
  usable,
  storage: { class: 'standard', type: 'local', size: `${disk}Gi` },
});

const imageVersion = (version: string, more: Partial<ImageVersion> = {}): ImageVersion => ({
  version,
  classification: 'supported',
  architectures: ['amd64', 'arm64'],
  ...more,
});

const deprecated = (expirationDate: string) => ({ classification: 'deprecated', expirationDate }) as const;

/** The catalogue of the garden. It covers every case that clients must handle. Zones are named after datacenters. */
export const hcloudProfile: CloudProfile = {
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'CloudProfile',
  metadata: { name: 'hcloud' },
  spec: {
    type: 'hcloud',
    kubernetes: {
      versions: [
        { version: '1.36.0', classification: 'preview' },
        { version: '1.35.1', classification: 'supported' },
        { version: '1.35.0', ...deprecated(farAway) },
        { version: '1.34.3', classification: 'supported' },
        { version: '1.34.2', ...deprecated(farAway) },
        { version: '1.33.7', classification: 'supported' },
        { version: '1.33.6', ...deprecated(farAway) },
        { version: '1.32.11', ...deprecated(farAway) },
        { version: '1.31.14', ...deprecated(past) },
      ],
    },
    machineImages: [
      {
        name: 'ubuntu',
        versions: [
          imageVersion('26.4.0', { classification: 'preview' }),
          imageVersion('24.4.1'),
          imageVersion('24.4.0', deprecated(farAway)),
          imageVersion('22.4.5', { ...deprecated(past), architectures: ['amd64'] }),
        ],
      },
      {
        name: 'gardenlinux',
        versions: [
          imageVersion('1877.5.0'),
          imageVersion('1592.14.0', { ...deprecated(farAway), architectures: ['amd64'] }),
        ],
      },
      {
        name: 'flatcar',
        versions: [imageVersion('4230.2.3', { architectures: ['amd64'] })],
      },
    ],
    machineTypes: [
      machineType('cx22', 'amd64', [2, 4, 40]),
      machineType('cx32', 'amd64', [4, 8, 80]),
      machineType('cx42', 'amd64', [8, 16, 160]),
      machineType('cx52', 'amd64', [16, 32, 320]),
      machineType('cx11', 'amd64', [1, 2, 20], false),
      machineType('cpx21', 'amd64', [3, 4, 80]),
      machineType('cpx31', 'amd64', [4, 8, 160]),
      machineType('cpx41', 'amd64', [8, 16, 240]),
      machineType('cpx51', 'amd64', [16, 32, 360]),
      machineType('ccx13', 'amd64', [2, 8, 80]),
      machineType('ccx23', 'amd64', [4, 16, 160]),
      machineType('ccx33', 'amd64', [8, 32, 240]),
      machineType('cax11', 'arm64', [2, 4, 40]),
      machineType('cax21', 'arm64', [4, 8, 80]),
      machineType('cax31', 'arm64', [8, 16, 160]),
    ],
    regions: [
      { name: 'fsn1', zones: [{ name: 'fsn1-dc14' }] },
      { name: 'nbg1', zones: [{ name: 'nbg1-dc3' }] },
      { name: 'hel1', zones: [{ name: 'hel1-dc2' }] },
      {
        name: 'ash',
        zones: [
          { name: 'ash-dc1', unavailableMachineTypes: ['cx22', 'cx32', 'cx42', 'cx52', 'cax11', 'cax21', 'cax31'] },
        ],
      },
      { name: 'hil', zones: [{ name: 'hil-dc1', unavailableMachineTypes: ['cax11', 'cax21', 'cax31'] }] },
      { name: 'sin', zones: [{ name: 'sin-dc1' }] },
    ],
    limits: { maxNodesTotal: 200 },
  },
};
