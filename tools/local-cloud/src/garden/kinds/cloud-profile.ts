import { any, objectSchema } from '../fields/schema.js';
import type { KubeObject } from '../kube/object.js';
import { type Kind, readVerbs } from './kind.js';

export interface ExpirableVersion {
  readonly version: string;
  readonly classification?: 'preview' | 'supported' | 'deprecated';
  /** RFC 3339. */
  readonly expirationDate?: string;
}

export interface ImageVersion extends ExpirableVersion {
  readonly architectures?: readonly string[];
  readonly cri?: readonly { readonly name: string }[];
}

export interface CloudProfile extends KubeObject {
  spec: {
    readonly type: string;
    readonly kubernetes: { readonly versions: readonly ExpirableVersion[] };
    readonly machineTypes: readonly {
      readonly name: string;
      readonly cpu: string;
      readonly memory: string;
      readonly gpu: string;
      readonly architecture?: string;
      readonly usable?: boolean;
      readonly storage?: { readonly class: string; readonly type: string; readonly size: string };
    }[];
    readonly machineImages: readonly {
      readonly name: string;
      readonly updateStrategy?: string;
      readonly versions: readonly ImageVersion[];
    }[];
    readonly regions: readonly {
      readonly name: string;
      readonly zones?: readonly { readonly name: string; readonly unavailableMachineTypes?: readonly string[] }[];
    }[];
    readonly limits?: { readonly maxNodesTotal?: number };
    readonly providerConfig?: Readonly<Record<string, unknown>>;
  };
}

export const cloudProfiles: Kind<CloudProfile> = {
  group: 'core.gardener.cloud',
  version: 'v1beta1',
  kind: 'CloudProfile',
  plural: 'cloudprofiles',
  namespaced: false,
  schema: objectSchema({ spec: any }),
  userVerbs: readVerbs,
};

const isPast = (expirationDate: string | undefined, nowMs: number): boolean =>
  expirationDate !== undefined && Date.parse(expirationDate) <= nowMs;

/** Whether the version can be selected for new use. */
export const isActive = ({ expirationDate }: ExpirableVersion, nowMs: number): boolean =>
  !isPast(expirationDate, nowMs);

/** Whether defaulting may select the version. Previews must be requested. */
export const isPickable = (version: ExpirableVersion, nowMs: number): boolean =>
  isActive(version, nowMs) && version.classification !== 'preview';
