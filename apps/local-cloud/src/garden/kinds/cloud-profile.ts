import { any, flag, integer, keyedBy, listOf, mapOf, objectSchema, struct, text } from '../fields/schema.js';
import type { KubeObject } from '../kube/object.js';
import { type Kind, nameColumn, readVerbs } from './kind.js';

export interface ExpirableVersion {
  readonly version: string;
  readonly classification?: 'preview' | 'supported' | 'deprecated';
  /** RFC 3339. */
  readonly expirationDate?: string;
}

export interface ImageVersion extends ExpirableVersion {
  readonly architectures?: readonly string[];
  readonly cri?: readonly { readonly name: string }[];
  readonly kubeletVersionConstraint?: string;
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

const expirable = { version: text, expirationDate: text, classification: text };

export const cloudProfiles: Kind<CloudProfile> = {
  group: 'core.gardener.cloud',
  version: 'v1beta1',
  kind: 'CloudProfile',
  plural: 'cloudprofiles',
  singular: 'cloudprofile',
  shortNames: ['cprofile', 'cpfl'],
  namespaced: false,
  nameIsLabel: false,
  schema: objectSchema({
    spec: struct({
      caBundle: text,
      type: text,
      kubernetes: struct({ versions: keyedBy('version', struct(expirable)) }),
      machineImages: keyedBy(
        'name',
        struct({
          name: text,
          updateStrategy: text,
          versions: keyedBy(
            'version',
            struct({
              ...expirable,
              architectures: listOf(text),
              kubeletVersionConstraint: text,
              cri: listOf(struct({ name: text, containerRuntimes: listOf(any) })),
            }),
          ),
        }),
      ),
      machineTypes: keyedBy(
        'name',
        struct({
          name: text,
          cpu: text,
          gpu: text,
          memory: text,
          architecture: text,
          usable: flag,
          storage: struct({ class: text, size: text, type: text, minSize: text }),
        }),
      ),
      regions: keyedBy(
        'name',
        struct({
          name: text,
          labels: mapOf(text),
          zones: keyedBy('name', struct({ name: text, unavailableMachineTypes: listOf(text) })),
        }),
      ),
      limits: struct({ maxNodesTotal: integer }),
      providerConfig: any,
    }),
  }),
  subresources: [],
  userVerbs: readVerbs,
  unconditionalUpdate: false,
  columns: [nameColumn],
  selectable: [],
};

const isPast = (expirationDate: string | undefined, nowMs: number): boolean =>
  expirationDate !== undefined && Date.parse(expirationDate) <= nowMs;

/** Whether a version may be newly chosen. */
export const isActive = ({ expirationDate }: ExpirableVersion, nowMs: number): boolean =>
  !isPast(expirationDate, nowMs);

/** Whether defaulting may pick a version: previews have to be asked for. */
export const isPickable = (version: ExpirableVersion, nowMs: number): boolean =>
  isActive(version, nowMs) && version.classification !== 'preview';
