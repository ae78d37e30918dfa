import { forbidden, invalidObject } from '../kube/errors.js';
import { equalJson, type Fields, type KubeObject } from '../kube/object.js';
import type { Kind } from './kind.js';

const core = { group: '', version: 'v1' };
const gardener = { group: 'core.gardener.cloud', version: 'v1beta1' };

export const namespaces: Kind = { ...core, kind: 'Namespace', plural: 'namespaces', namespaced: false };

export interface Secret extends KubeObject {
  /** Base64-encoded values. */
  data?: Record<string, string>;
  type?: string;
}

export const secrets: Kind<Secret> = {
  ...core,
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  prepare(secret) {
    secret.type ??= 'Opaque';
  },
};

export const configMaps: Kind = { ...core, kind: 'ConfigMap', plural: 'configmaps', namespaced: true };

export interface Project extends KubeObject {
  spec: { namespace?: string; [field: string]: unknown };
}

export const projects: Kind<Project> = {
  ...gardener,
  kind: 'Project',
  plural: 'projects',
  namespaced: false,
  prepare(project) {
    project.spec ??= {};
  },
  judge({ metadata: { name = '' } }) {
    if (name.length <= 10) return;
    throw invalidObject(projects, name, 'metadata.name', 'Invalid value: must not exceed 10 characters');
  },
};

export interface CredentialsBinding extends KubeObject {
  provider: { type: string };
  credentialsRef: { kind?: string; name?: string; namespace?: string };
}

export const credentialsBindings: Kind<CredentialsBinding> = {
  group: 'security.gardener.cloud',
  version: 'v1alpha1',
  kind: 'CredentialsBinding',
  plural: 'credentialsbindings',
  namespaced: true,
  judge({ metadata: { name: own = '' }, credentialsRef }, old, { find }) {
    const { name = '', namespace = '' } = credentialsRef;
    if (old !== null && !equalJson(credentialsRef, old.credentialsRef))
      throw invalidObject(credentialsBindings, own, 'credentialsRef', 'Invalid value: field is immutable');
    if (find('secrets', namespace, name) !== null) return;
    throw forbidden(credentialsBindings, own, `secrets ${JSON.stringify(name)} not found`);
  },
};

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

export const cloudProfiles: Kind<CloudProfile> = {
  ...gardener,
  kind: 'CloudProfile',
  plural: 'cloudprofiles',
  namespaced: false,
};
