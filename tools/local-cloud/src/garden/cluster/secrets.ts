import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Simulation } from '../gardenlet/simulation.js';
import type { Secret } from '../kinds/core-kinds.js';
import { type Shoot, type ShootSpec, type Worker, workersOf } from '../kinds/shoot/shoot.js';

export const TOKEN_TYPE = 'bootstrap.kubernetes.io/token';

const idPattern = /^[a-z0-9]{6}$/;
const secretPattern = /^[a-z0-9]{16}$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

const valueIn = ({ data = {} }: Secret, key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');

/**
 * Whether a Secret is a bootstrap token that a machine can join with, and for nothing else. A real API server accepts
 * others and ignores them. Here the write fails.
 */
export function isWellFormed(secret: Secret): boolean {
  const [id = '', secretPart = '', expiration = ''] = ['token-id', 'token-secret', 'expiration'].map((key) =>
    valueIn(secret, key),
  );
  return (
    idPattern.test(id) &&
    secretPattern.test(secretPart) &&
    secret.metadata.name === `bootstrap-token-${id}` &&
    (expiration === '' || timePattern.test(expiration)) &&
    valueIn(secret, 'usage-bootstrap-signing') !== 'true'
  );
}

/** Whether the token has expired. A token without an expiration never expires. */
export function isExpired(secret: Secret, nowMs: number): boolean {
  const expiration = valueIn(secret, 'expiration');
  return expiration !== '' && Date.parse(expiration) <= nowMs;
}

/** Whether a presented token, `id.secret`, is valid. */
export function admits(tokens: readonly Secret[], shown: string, nowMs: number): boolean {
  return tokens.some(
    (secret) =>
      `${valueIn(secret, 'token-id')}.${valueIn(secret, 'token-secret')}` === shown &&
      valueIn(secret, 'usage-bootstrap-authentication') === 'true' &&
      !isExpired(secret, nowMs),
  );
}

/** Namespace of all objects that nodes need from a Shoot. */
export const SYSTEM = 'kube-system';

const AGENT_VERSION = 'v1.150.0';
const REGISTRY = 'europe-docker.pkg.dev/gardener-project/releases';
const AGENT_IMAGE = `${REGISTRY}/gardener/node-agent:${AGENT_VERSION}`;
const AGENT_HOME = '/var/lib/gardener-node-agent';
const AUTHORITY_PATH = `${AGENT_HOME}/cluster-ca.crt`;

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
        operatingSystemConfig: { secretName: name, kubernetesVersion: spec.kubernetes.version },
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
                ...binaries(spec.kubernetes.version),
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

/** Checksum that marks a node as configured according to its Secret. */
export const configChecksumOf = (spec: ShootSpec, worker: Worker): string =>
  hashOf(JSON.stringify([nameOf(spec, worker), spec.kubernetes.version]));

const written = (path: string, text: string) => ({
  path,
  permissions: 0o600,
  content: { inline: { encoding: 'b64', data: base64(text) } },
});

const fromImage = (path: string, image: string, filePathInImage: string) => ({
  path,
  permissions: 0o755,
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
