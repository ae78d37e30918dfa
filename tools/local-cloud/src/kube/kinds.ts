import type { CloudProfile, CredentialsBinding, Node, Project, Secret } from '../garden/objects.js';
import type { Shoot } from '../garden/shoots/shoot.js';
import type { KubeObject } from './object.js';

/** Identifies a kind in paths and messages. */
export interface Kind<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** There for the compiler only: the type of its objects. */
  readonly object?: T;
}

const core = { group: '', version: 'v1' };
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
const gardener = { group: 'core.gardener.cloud', version: 'v1beta1' };
const security = { group: 'security.gardener.cloud', version: 'v1alpha1' };

export const namespaces: Kind = { ...core, kind: 'Namespace', plural: 'namespaces', namespaced: false };
export const secrets: Kind<Secret> = { ...core, kind: 'Secret', plural: 'secrets', namespaced: true };
export const configMaps: Kind = { ...core, kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
export const projects: Kind<Project> = { ...gardener, kind: 'Project', plural: 'projects', namespaced: false };
export const cloudProfiles: Kind<CloudProfile> = {
  ...gardener,
  kind: 'CloudProfile',
  plural: 'cloudprofiles',
  namespaced: false,
};
export const shoots: Kind<Shoot> = { ...gardener, kind: 'Shoot', plural: 'shoots', namespaced: true };
export const credentialsBindings: Kind<CredentialsBinding> = {
  ...security,
  kind: 'CredentialsBinding',
  plural: 'credentialsbindings',
  namespaced: true,
};
/** Gardener's kind for secrets that no client reads. It is not served. */
export const internalSecrets: Kind = {
  ...gardener,
  kind: 'InternalSecret',
  plural: 'internalsecrets',
  namespaced: true,
};

/** Every kind that the garden serves. */
export const gardenKinds: readonly Kind[] = [
  namespaces,
  secrets,
  configMaps,
  projects,
  credentialsBindings,
  cloudProfiles,
  shoots,
];

export const nodes: Kind<Node> = { ...core, kind: 'Node', plural: 'nodes', namespaced: false };
export const pods: Kind = { ...core, kind: 'Pod', plural: 'pods', namespaced: true };
export const definitions: Kind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

/** The kinds that the cluster of every Shoot serves. Others are there once their CustomResourceDefinition is. */
export const clusterKinds: readonly Kind[] = [
  namespaces,
  secrets,
  configMaps,
  nodes,
  pods,
  definitions,
  { ...core, kind: 'Service', plural: 'services', namespaced: true },
  { ...core, kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
  { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
  { group: 'apiregistration.k8s.io', version: 'v1', kind: 'APIService', plural: 'apiservices', namespaced: false },
  { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress', plural: 'ingresses', namespaced: true },
  { ...rbac, kind: 'ClusterRole', plural: 'clusterroles', namespaced: false },
  { ...rbac, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', namespaced: false },
];

export const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** The path of a kind's version, such as `/apis/core.gardener.cloud/v1beta1`. */
export const versionPathOf = (kind: Kind): string => `/${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`;
