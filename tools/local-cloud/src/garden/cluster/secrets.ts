import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Secret } from '../kinds.js';
import type { KubeObject } from '../object.js';
import { type Shoot, type ShootSpec, type Simulation, type Worker, workersOf } from '../shoots/shoot.js';

/** Whether an object is the Secret of a presented token, `id.secret`, and the token is valid. One without an expiration never expires. */
export function admits(object: KubeObject, shown: string, nowMs: number): boolean {
  const { type, data = {} } = object as Secret;
  if (type !== 'bootstrap.kubernetes.io/token') return false;
  const value = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const isExpired = value('expiration') !== '' && Date.parse(value('expiration')) <= nowMs;
  return `${value('token-id')}.${value('token-secret')}` === shown && !isExpired;
}

const AGENT_VERSION = 'v1.150.0';
const AGENT_IMAGE = `europe-docker.pkg.dev/gardener-project/releases/gardener/node-agent:${AGENT_VERSION}`;
const AGENT_HOME = '/var/lib/gardener-node-agent';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Another minor version, image or runtime leads to another Secret. Both exist while machines roll. */
const nameOf = (spec: ShootSpec, worker: Worker): string => {
  const minor = spec.kubernetes.version.split('.').slice(0, 2);
  const { image } = worker.machine;
  return `gardener-node-agent-${worker.name}-${hashOf(JSON.stringify([minor, image, worker.cri])).slice(0, 5)}`;
};

/**
 * The configuration Secrets that node agents read: one per worker pool of the last reconciled spec
 * (`pkg/component/extensions/operatingsystemconfig/original/components/nodeagent/secrets.go`).
 */
export function configSecretsOf(shoot: Shoot, { reconciled }: Simulation): Secret[] {
  if (reconciled === undefined) return [];
  const { spec } = reconciled;
  const server = shoot.status.advertisedAddresses?.[0]?.url ?? '';
  return workersOf(spec).map((worker) => {
    const name = nameOf(spec, worker);
    const agent = {
      apiVersion: 'nodeagent.config.gardener.cloud/v1alpha1',
      kind: 'NodeAgentConfiguration',
      apiServer: { server },
      controllers: {
        operatingSystemConfig: { secretName: name, kubernetesVersion: spec.kubernetes.version },
      },
    };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: 'kube-system',
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
              files: [
                {
                  path: `${AGENT_HOME}/config-${AGENT_VERSION}.yaml`,
                  content: { inline: { encoding: 'b64', data: base64(stringify(agent)) } },
                },
                {
                  path: '/opt/bin/gardener-node-agent',
                  content: { imageRef: { image: AGENT_IMAGE, filePathInImage: '/gardener-node-agent' } },
                },
              ],
            },
          }),
        ),
      },
    };
  });
}

/** Checksum that marks a node as configured according to its Secret. */
export const configChecksumOf = (spec: ShootSpec, worker: Worker): string =>
  hashOf(JSON.stringify([nameOf(spec, worker), spec.kubernetes.version]));

function uidOf(text: string): string {
  const digest = hashOf(text);
  return `${digest.slice(0, 8)}-0000-4000-8000-${digest.slice(8, 20)}`;
}
