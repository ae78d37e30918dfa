import { stringify } from 'yaml';
import type { KubeClient } from './kube-client.js';

// biome-ignore lint/suspicious/noExplicitAny: tests make objects of every shape, wrong ones too
type AnyFields = any;

export interface ShootFields {
  readonly name?: string;
  /** Replaces fields of the spec. */
  readonly spec?: AnyFields;
  readonly workers?: readonly AnyFields[];
}

export const NAMESPACE = 'garden-acme';
const PROVIDER = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';

/** A valid Shoot. */
export const aShoot = ({ name = 'web', spec = {}, workers = [aWorker()] }: ShootFields = {}) => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name, namespace: NAMESPACE },
  spec: {
    cloudProfile: { kind: 'CloudProfile', name: 'hcloud' },
    region: 'hel1',
    credentialsBindingName: 'conn',
    kubernetes: { version: '1.34.3' },
    networking: { type: 'calico', nodes: '10.250.0.0/16', pods: '10.244.0.0/16', services: '10.96.0.0/16' },
    provider: {
      type: 'hcloud',
      infrastructureConfig: {
        apiVersion: PROVIDER,
        kind: 'InfrastructureConfig',
        networks: { workersConfiguration: { cidr: '10.250.0.0/16', zone: 'eu-central' } },
      },
      controlPlaneConfig: { apiVersion: PROVIDER, kind: 'ControlPlaneConfig', zone: 'hel1-dc2' },
      workers,
    },
    ...spec,
  },
});

const aWorker = (fields: AnyFields = {}) => ({
  name: 'pool-a',
  minimum: 1,
  maximum: 3,
  machine: { type: 'cpx31' },
  zones: ['hel1-dc2'],
  ...fields,
});

/** Named like its namespace, without the prefix. */
export const aProject = (name: string) => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Project',
  metadata: { name },
  spec: { namespace: `garden-${name}` },
});

const encoded = (value: string): string => Buffer.from(value).toString('base64');

export const aSecret = (name: string, token: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: NAMESPACE },
  data: { hcloudToken: encoded(token) },
});

export const aBinding = (name: string, secret = name) => ({
  apiVersion: 'security.gardener.cloud/v1alpha1',
  kind: 'CredentialsBinding',
  metadata: { name, namespace: NAMESPACE },
  provider: { type: 'hcloud' },
  credentialsRef: { apiVersion: 'v1', kind: 'Secret', name: secret, namespace: NAMESPACE },
});

/** A bootstrap token of a Shoot that is valid for an hour, as a Secret. The given values replace its own. */
export function aToken(values: Readonly<Record<string, string>> = {}, id = 'abcdef') {
  const all = {
    'token-id': id,
    'token-secret': '0123456789abcdef',
    expiration: new Date(Date.now() + 3_600_000).toISOString(),
    'usage-bootstrap-authentication': 'true',
    ...values,
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(Object.entries(all).map(([key, value]) => [key, encoded(value)])),
  };
}

export interface JoinConfigChange {
  readonly token?: string;
  readonly secret?: string;
  readonly ca?: string;
  /** Replaces fields of the cloud-config. */
  readonly more?: object;
}

/** The cloud-config of a machine that Gardener creates, with changed parts. */
export function renderJoinConfig(shoot: KubeClient, secretName: string, change: JoinConfigChange): string {
  const agent = {
    apiVersion: 'nodeagent.config.gardener.cloud/v1alpha1',
    kind: 'NodeAgentConfiguration',
    apiServer: { server: shoot.server, caBundle: encoded(change.ca ?? shoot.certificateAuthority) },
    controllers: { operatingSystemConfig: { secretName: change.secret ?? secretName, kubernetesVersion: '1.34.3' } },
  };
  const home = '/var/lib/gardener-node-agent';
  return `#cloud-config\n${stringify({
    hostname: 'srv-1',
    write_files: [
      { path: `${home}/credentials/bootstrap-token`, content: change.token ?? 'abcdef.0123456789abcdef' },
      { path: `${home}/config.yaml`, encoding: 'b64', content: encoded(stringify(agent)) },
    ],
    runcmd: [['/var/lib/gardener-node-agent/init.sh']],
    ...change.more,
  })}`;
}
