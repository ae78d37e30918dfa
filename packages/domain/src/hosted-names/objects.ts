import { type InstalledObject, isObject, type JsonObject } from '@corral/contracts';

/** A name on a cluster, and what its objects contain of the installation. */
export interface HostedName {
  /** Relative to the zone. */
  readonly name: string;
  readonly zone: string;
  /** Base URL of the DNS API. */
  readonly endpoint: string;
  /** Directory of the ACME server that issues certificates. */
  readonly acmeServer: string;
}

/** The DNS token of a name. Its text is a secret. */
export interface NameToken {
  readonly id: string;
  readonly text: string;
}

/** An object of Kubernetes, as it is applied. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly [member: string]: unknown;
}

/** What ExternalDNS runs as. tests/clients/external-dns runs the code of this version. */
export const externalDnsImage = 'registry.k8s.io/external-dns/external-dns:v0.22.0';
/** The first version of the webhook that takes CNAMEs as they are. It reads the address of the API from HCLOUD_ENDPOINT. */
const dnsWebhookImage = 'docker.io/hetzner/external-dns-hetzner-webhook:v0.3.4';

/** The namespace of what writes records. */
const dnsNamespace = 'corral-dns';
/** cert-manager looks for the Secrets of a ClusterIssuer there, unless it is installed otherwise. */
export const certManagerNamespace = 'cert-manager';
/** Its API service shows that the webhook is installed, and with it cert-manager. */
export const solverGroup = 'acme.hetzner.com';

const shared = 'corral-external-dns';
/** The owner of the records. It is the same on all clusters: a name that moves to another cluster takes its records with it. */
const recordOwner = 'corral';

export const fullName = ({ name, zone }: Pick<HostedName, 'name' | 'zone'>): string => `${name}.${zone}`;

/** One label for each name: hyphens are doubled, so that two names never have the same. */
const labelOf = (name: string): string => name.replaceAll('-', '--').replaceAll('.', '-');

/** Everything that a name needs in a cluster, in the order in which it is applied. */
export interface NameObjects {
  /** The objects of records, with the token. They come in no order, since Pods wait for their Secret. */
  readonly records: readonly Manifest[];
  /** Only where cert-manager and its webhook are installed. */
  readonly certificates: readonly Manifest[];
}

/**
 * The objects that give a cluster the records and the certificates of a name.
 *
 * @param token null to show the plan: the Secrets are empty then
 */
export function objectsOfName(of: HostedName, token: NameToken | null): NameObjects {
  return {
    records: [...sharedObjects, secret(of, dnsNamespace, token), deployment(of, token)],
    certificates: [secret(of, certManagerNamespace, token), issuer(of)],
  };
}

/** The objects that go with a name: those of it that none of the names that stay needs. */
export function leftoverOf(removed: HostedName, staying: readonly HostedName[]): Manifest[] {
  const listOf = (each: HostedName) => Object.values(objectsOfName(each, null)).flat() as Manifest[];
  const needed = new Set(staying.flatMap(listOf).map(keyOf));
  return listOf(removed).filter((object) => !needed.has(keyOf(object)));
}

const keyOf = ({ kind, metadata: { namespace = '', name } }: Manifest): string => `${kind} ${namespace}/${name}`;

/** What is shown of an object: never what a Secret contains. */
export function shownObject({ kind, apiVersion, metadata, spec }: Manifest): InstalledObject {
  const containers = (spec as Partial<DeploymentSpec> | undefined)?.template?.spec.containers ?? [];
  const { namespace = null, name } = metadata;
  return { kind, apiVersion, namespace, name, images: containers.map(({ image }) => image) };
}

interface DeploymentSpec {
  readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
}

const labels = { 'app.kubernetes.io/managed-by': 'corral' } as const;

/** Whether somebody else made an object of a cluster. Corral changes and removes only its own. */
export function isForeign(object: JsonObject | null): boolean {
  if (object === null) return false;
  const { metadata } = object;
  const present = isObject(metadata) && isObject(metadata.labels) ? metadata.labels : {};
  return Object.entries(labels).some(([name, value]) => present[name] !== value);
}

/** What all names on a cluster use together. */
const sharedObjects: readonly Manifest[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: dnsNamespace, labels } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: shared, namespace: dnsNamespace, labels } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: shared, labels },
    rules: [
      { apiGroups: [''], resources: ['nodes', 'pods', 'services'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: ['get', 'list', 'watch'] },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: shared, labels },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: shared },
    subjects: [{ kind: 'ServiceAccount', name: shared, namespace: dnsNamespace }],
  },
];

const nameLabels = ({ name }: HostedName) => ({ ...labels, 'corral.dev/name': name });

const secret = (of: HostedName, namespace: string, token: NameToken | null): Manifest => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: `corral-dns-${labelOf(of.name)}`, namespace, labels: nameLabels(of) },
  type: 'Opaque',
  data: token === null ? {} : { token: btoa(token.text) },
});

/** The Secret that holds the token of a name in a cluster. */
export const secretOfName = (of: HostedName): Manifest => secret(of, dnsNamespace, null);

/** Its flags are those that docs/clients.md shows and tests/clients/external-dns runs. */
export const externalDnsArgs = (of: HostedName): readonly string[] => [
  '--provider=webhook',
  '--source=ingress',
  '--source=service',
  // Without it records stay when their Ingress is deleted.
  '--policy=sync',
  '--events',
  '--registry=txt',
  `--txt-owner-id=${recordOwner}`,
  // The records of the registry have names below the name, which the token covers.
  '--txt-prefix=reg-%{record_type}.',
  '--txt-wildcard-replacement=any',
  `--domain-filter=${fullName(of)}`,
  ...['A', 'AAAA', 'CNAME'].map((type) => `--managed-record-types=${type}`),
];

/** ExternalDNS with the webhook of the API beside it. */
function deployment(of: HostedName, token: NameToken | null): Manifest {
  const name = labelOf(of.name);
  const selected = { 'corral.dev/name': of.name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: dnsNamespace, labels: nameLabels(of) },
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: selected },
      template: {
        // The id makes new Pods when the token is replaced.
        metadata: { labels: nameLabels(of), annotations: { 'corral.dev/dns-token': token?.id ?? '' } },
        spec: {
          serviceAccountName: shared,
          securityContext: { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              ...container('external-dns', externalDnsImage, '50Mi'),
              args: externalDnsArgs(of),
              readinessProbe: { httpGet: { path: '/healthz', port: 7979 } },
            },
            {
              ...container('webhook', dnsWebhookImage, '30Mi'),
              env: [
                { name: 'HCLOUD_ENDPOINT', value: of.endpoint },
                {
                  name: 'HETZNER_TOKEN',
                  valueFrom: { secretKeyRef: { name: secretOfName(of).metadata.name, key: 'token' } },
                },
              ],
            },
          ],
        },
      },
    },
  };
}

const container = (name: string, image: string, memory: string) => ({
  name,
  image,
  resources: { requests: { cpu: '10m', memory } },
  securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
});

/** Issues certificates for the name and the names below it, wildcards included. */
const issuer = (of: HostedName): Manifest => ({
  apiVersion: 'cert-manager.io/v1',
  kind: 'ClusterIssuer',
  metadata: { name: of.name, labels: nameLabels(of) },
  spec: {
    acme: {
      server: of.acmeServer,
      privateKeySecretRef: { name: `corral-acme-${labelOf(of.name)}` },
      solvers: [
        {
          selector: { dnsZones: [fullName(of)] },
          dns01: {
            webhook: {
              groupName: solverGroup,
              solverName: 'hetzner',
              config: {
                hcloudEndpoint: of.endpoint,
                // A write may wait; the default is 15s.
                httpTimeout: '30s',
                tokenSecretKeyRef: { name: secretOfName(of).metadata.name, key: 'token' },
              },
            },
          },
        },
      ],
    },
  },
});
