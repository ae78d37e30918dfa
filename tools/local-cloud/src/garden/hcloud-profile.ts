import type { CloudProfile, ImageVersion } from './objects.js';

const past = '2026-01-31T23:59:59Z';
const farAway = '2099-12-31T23:59:59Z';

/** The server types, with their net prices in euros in the European locations: hourly, and the monthly cap. */
export const serverTypes: Readonly<
  Record<
    string,
    { size: readonly [cpu: number, gigabytes: number, disk: number]; price: readonly [hourly: number, monthly: number] }
  >
> = {
  cx22: { size: [2, 4, 40], price: [0.006, 3.79] },
  cx32: { size: [4, 8, 80], price: [0.0109, 6.8] },
  cx42: { size: [8, 16, 160], price: [0.0263, 16.4] },
  cx52: { size: [16, 32, 320], price: [0.0519, 32.4] },
  cx11: { size: [1, 2, 20], price: [0.0053, 3.29] },
  cpx21: { size: [3, 4, 80], price: [0.0113, 7.05] },
  cpx31: { size: [4, 8, 160], price: [0.021, 13.1] },
  cpx41: { size: [8, 16, 240], price: [0.0394, 24.6] },
  cpx51: { size: [16, 32, 360], price: [0.0879, 54.9] },
  ccx13: { size: [2, 8, 80], price: [0.02, 12.49] },
  ccx23: { size: [4, 16, 160], price: [0.0392, 24.49] },
  ccx33: { size: [8, 32, 240], price: [0.0777, 48.49] },
  cax11: { size: [2, 4, 40], price: [0.0053, 3.29] },
  cax21: { size: [4, 8, 80], price: [0.0096, 5.99] },
  cax31: { size: [8, 16, 160], price: [0.0192, 11.99] },
};

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
    machineTypes: Object.entries(serverTypes).map(
      ([
        name,
        {
          size: [cpu, memory, disk],
        },
      ]) => ({
        name,
        architecture: name.startsWith('cax') ? 'arm64' : 'amd64',
        cpu: String(cpu),
        gpu: '0',
        memory: `${memory}Gi`,
        usable: name !== 'cx11',
        storage: { class: 'standard', type: 'local', size: `${disk}Gi` },
      }),
    ),
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
