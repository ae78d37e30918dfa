import type { Fields, KubeObject } from './object.js';

/** Identifies a kind in paths and messages. */
export interface Kind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const core = { group: '', version: 'v1' };
const gardener = { group: 'core.gardener.cloud', version: 'v1beta1' };
const security = { group: 'security.gardener.cloud', version: 'v1alpha1' };

export const namespaces: Kind = { ...core, kind: 'Namespace', plural: 'namespaces', namespaced: false };
export const secrets: Kind = { ...core, kind: 'Secret', plural: 'secrets', namespaced: true };
export const configMaps: Kind = { ...core, kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
export const projects: Kind = { ...gardener, kind: 'Project', plural: 'projects', namespaced: false };
export const cloudProfiles: Kind = { ...gardener, kind: 'CloudProfile', plural: 'cloudprofiles', namespaced: false };
export const shoots: Kind = { ...gardener, kind: 'Shoot', plural: 'shoots', namespaced: true };
export const credentialsBindings: Kind = {
  ...security,
  kind: 'CredentialsBinding',
  plural: 'credentialsbindings',
  namespaced: true,
};

/** Every kind that the garden serves. */
export const allKinds = [namespaces, secrets, configMaps, projects, credentialsBindings, cloudProfiles, shoots];

export interface Secret extends KubeObject {
  /** Base64-encoded values. */
  data?: Record<string, string>;
  type?: string;
}

export interface Project extends KubeObject {
  spec?: { namespace?: string; [field: string]: unknown };
}

export interface CredentialsBinding extends KubeObject {
  credentialsRef: { name?: string; namespace?: string };
}

export interface CatalogueVersion {
  readonly version: string;
  readonly classification?: 'preview' | 'supported' | 'deprecated';
  /** RFC 3339. */
  readonly expirationDate?: string;
}

export interface ImageVersion extends CatalogueVersion {
  readonly architectures: readonly string[];
}

export interface CloudProfile extends KubeObject {
  spec: {
    readonly type: string;
    readonly kubernetes: { readonly versions: readonly CatalogueVersion[] };
    readonly machineTypes: readonly {
      readonly name: string;
      readonly cpu: string;
      readonly memory: string;
      readonly gpu: string;
      readonly architecture: string;
      readonly usable: boolean;
      readonly storage: Fields;
    }[];
    readonly machineImages: readonly { readonly name: string; readonly versions: readonly ImageVersion[] }[];
    readonly regions: readonly {
      readonly name: string;
      readonly zones?: readonly { readonly name: string; readonly unavailableMachineTypes?: readonly string[] }[];
    }[];
    readonly limits?: { readonly maxNodesTotal?: number };
  };
}

export const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** The path of a kind's version, such as `/apis/core.gardener.cloud/v1beta1`. */
export const versionPathOf = (kind: Kind): string => `/${kind.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind)}`;
