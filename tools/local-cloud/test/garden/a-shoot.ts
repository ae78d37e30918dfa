// biome-ignore lint/suspicious/noExplicitAny: tests make Shoots of every shape, wrong ones too
type AnyFields = any;

export interface ShootFields {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Replaces fields of the spec. */
  readonly spec?: AnyFields;
  readonly workers?: readonly AnyFields[];
}

export const NAMESPACE = 'garden-acme';
const PROVIDER = 'hcloud.provider.extensions.gardener.cloud/v1alpha1';

/** A valid Shoot. */
export const aShoot = ({ name = 'web', labels, annotations, spec = {}, workers = [aWorker()] }: ShootFields = {}) => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Shoot',
  metadata: { name, namespace: NAMESPACE, ...(labels && { labels }), ...(annotations && { annotations }) },
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

export const aWorker = (fields: AnyFields = {}) => ({
  name: 'pool-a',
  minimum: 1,
  maximum: 3,
  machine: { type: 'cpx31' },
  zones: ['hel1-dc2'],
  ...fields,
});

/** The valid Shoot with a changed spec. */
export function shootWith(change: (spec: AnyFields) => void, fields: ShootFields = {}) {
  const shoot = aShoot({ name: 'judged', ...fields });
  change(shoot.spec);
  return shoot;
}
