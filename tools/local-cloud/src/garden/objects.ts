import type { KubeObject } from '../kube/object.js';

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

export interface Node extends KubeObject {
  metadata: KubeObject['metadata'] & { name: string; labels: Record<string, string> };
  spec: { providerID?: string; unschedulable?: boolean };
  status: {
    addresses: readonly { type: string; address: string }[];
    conditions: readonly { type: string; status: string }[];
    nodeInfo: { kubeletVersion: string; bootID?: string };
  };
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
      readonly architecture: string;
      readonly usable: boolean;
    }[];
    readonly machineImages: readonly { readonly name: string; readonly versions: readonly ImageVersion[] }[];
    readonly regions: readonly {
      readonly name: string;
      readonly zones?: readonly { readonly name: string; readonly unavailableMachineTypes?: readonly string[] }[];
    }[];
    readonly limits?: { readonly maxNodesTotal?: number };
  };
}
