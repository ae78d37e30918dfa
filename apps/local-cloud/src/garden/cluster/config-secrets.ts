import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Simulation } from '../gardenlet/simulation.js';
import type { Secret } from '../kinds/core-kinds.js';
import { type Shoot, type ShootSpec, type Worker, workersOf } from '../kinds/shoot/shoot.js';

/** Namespace of everything that nodes need from a Shoot. */
export const SYSTEM = 'kube-system';

const AGENT_VERSION = 'v1.150.0';
const REGISTRY = 'europe-docker.pkg.dev/gardener-project/releases';
const AGENT_IMAGE = `${REGISTRY}/gardener/node-agent:${AGENT_VERSION}`;
const AGENT_HOME = '/var/lib/gardener-node-agent';
const AUTHORITY_PATH = `${AGENT_HOME}/cluster-ca.crt`;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const versionOf = (spec: ShootSpec, worker: Worker): string => worker.kubernetes?.version ?? spec.kubernetes.version;

/** Another minor version, image or runtime is another Secret: nodes of both are there while machines roll. */
const nameOf = (spec: ShootSpec, worker: Worker): string => {
  const minor = versionOf(spec, worker).split('.').slice(0, 2);
  const { image } = worker.machine;
  return `gardener-node-agent-${worker.name}-${hashOf(JSON.stringify([minor, image, worker.cri])).slice(0, 5)}`;
};

/**
 * The Secrets that node agents read what to be from: one per worker pool of what was last reconciled
 * (`pkg/component/extensions/operatingsystemconfig/original/components/nodeagent/secrets.go`).
 */
export function configSecretsOf(shoot: Shoot, { reconciled, authority }: Simulation): Secret[] {
  if (reconciled === undefined) return [];
  const { spec } = reconciled;
  const server = shoot.status.advertisedAddresses?.[0]?.url ?? '';
  return workersOf(spec).map((worker) => {
    const name = nameOf(spec, worker);
    const agent = {
      apiVersion: 'nodeagent.config.gardener.cloud/v1alpha1',
      kind: 'NodeAgentConfiguration',
      apiServer: { server, caFile: AUTHORITY_PATH },
      controllers: {
        operatingSystemConfig: { secretName: name, kubernetesVersion: versionOf(spec, worker) },
      },
    };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: SYSTEM,
        uid: uidOf(`${shoot.metadata.uid}/${name}`),
        resourceVersion: '1',
        creationTimestamp: shoot.metadata.creationTimestamp ?? '',
        annotations: { 'checksum/data-script': configChecksumOf(spec, worker) },
        labels: { 'gardener.cloud/role': 'operating-system-config', 'worker.gardener.cloud/pool': worker.name },
      },
      type: 'Opaque',
      data: {
        'osc.yaml': base64(
          stringify({
            apiVersion: 'extensions.gardener.cloud/v1alpha1',
            kind: 'OperatingSystemConfig',
            metadata: { creationTimestamp: null },
            spec: {
              criConfig: { name: 'containerd', cgroupDriver: 'systemd' },
              files: [
                written(`${AGENT_HOME}/config-${AGENT_VERSION}.yaml`, stringify(agent)),
                written(AUTHORITY_PATH, authority?.certificate ?? ''),
                ...binaries(versionOf(spec, worker)),
              ],
              units: [{ name: 'gardener-node-agent.service', enable: true }],
            },
            status: {},
          }),
        ),
      },
    };
  });
}

/** What says that a node is as its Secret wants it. */
export const configChecksumOf = (spec: ShootSpec, worker: Worker): string =>
  hashOf(JSON.stringify([nameOf(spec, worker), versionOf(spec, worker)]));

const written = (path: string, text: string) => ({
  ...{ path, permissions: 0o600 },
  content: { inline: { encoding: 'b64', data: base64(text) } },
});

const fromImage = (path: string, image: string, filePathInImage: string) => ({
  ...{ path, permissions: 0o755 },
  content: { imageRef: { image, filePathInImage } },
});

const binaries = (version: string) => [
  fromImage('/opt/bin/gardener-node-agent', AGENT_IMAGE, '/gardener-node-agent'),
  fromImage('/opt/bin/kubelet', `${REGISTRY}/hyperkube:v${version}`, '/kubelet'),
];

function uidOf(text: string): string {
  const digest = hashOf(text);
  return `${digest.slice(0, 8)}-0000-4000-8000-${digest.slice(8, 20)}`;
}
