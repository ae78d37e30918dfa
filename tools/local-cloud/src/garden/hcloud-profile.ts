import type { CloudProfile, ImageVersion } from './objects.js';

const past = '2026-01-31T23:59:59Z';
const farAway = '2099-12-31T23:59:59Z';

/** Its processors, gigabytes of memory, and net prices in euros in the European locations: hourly, and the monthly cap. */
interface ServerType {
  readonly cpu: number;
  readonly memory: number;
  readonly hourly: number;
  readonly monthly: number;
}

export const serverTypes: Readonly<Record<string, ServerType>> = {
  cx22: { cpu: 2, memory: 4, hourly: 0.006, monthly: 3.79 },
  cx32: { cpu: 4, memory: 8, hourly: 0.0109, monthly: 6.8 },
  cx42: { cpu: 8, memory: 16, hourly: 0.0263, monthly: 16.4 },
  cx52: { cpu: 16, memory: 32, hourly: 0.0519, monthly: 32.4 },
  cx11: { cpu: 1, memory: 2, hourly: 0.0053, monthly: 3.29 },
  cpx21: { cpu: 3, memory: 4, hourly: 0.0113, monthly: 7.05 },
  cpx31: { cpu: 4, memory: 8, hourly: 0.021, monthly: 13.1 },
  cpx41: { cpu: 8, memory: 16, hourly: 0.0394, monthly: 24.6 },
  cpx51: { cpu: 16, memory: 32, hourly: 0.0879, monthly: 54.9 },
  ccx13: { cpu: 2, memory: 8, hourly: 0.02, monthly: 12.49 },
  ccx23: { cpu: 4, memory: 16, hourly: 0.0392, monthly: 24.49 },
  ccx33: { cpu: 8, memory: 32, hourly: 0.0777, monthly: 48.49 },
  cax11: { cpu: 2, memory: 4, hourly: 0.0053, monthly: 3.29 },
  cax21: { cpu: 4, memory: 8, hourly: 0.0096, monthly: 5.99 },
  cax31: { cpu: 8, memory: 16, hourly: 0.0192, monthly: 11.99 },
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
    machineTypes: Object.entries(serverTypes).map(([name, { cpu, memory }]) => ({
      name,
      architecture: name.startsWith('cax') ? 'arm64' : 'amd64',
      cpu: String(cpu),
      memory: `${memory}Gi`,
      usable: name !== 'cx11',
    })),
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
