import { any, base64, flag, listOf, mapOf, objectSchema, struct, text } from '../fields/schema.js';
import { immutable } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import type { Kind } from './kind.js';

interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string };
}

export const namespaces: Kind<Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  nameIsLabel: true,
  schema: objectSchema({
    spec: struct({ finalizers: listOf(text) }),
    status: struct({ phase: text, conditions: any }),
  }),
  prepare(namespace, old) {
    namespace.status = old?.status ?? { phase: 'Active' };
    // Clients may rely on it in selectors: https://kubernetes.io/docs/reference/labels-annotations-taints/
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      'kubernetes.io/metadata.name': namespace.metadata.name ?? '',
    };
  },
};

export interface Secret extends KubeObject {
  /** Base64-encoded values. */
  data?: Record<string, string>;
  type?: string;
}

export const secrets: Kind<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  schema: objectSchema({ data: mapOf(base64), type: text, immutable: flag }),
  setDefaults(secret) {
    secret.type ??= 'Opaque';
  },
  validate: (secret, old) => (old === null || secret.type === old.type ? [] : [immutable('type', secret.type)]),
};

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export const configMaps: Kind<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  schema: objectSchema({ data: mapOf(text), binaryData: mapOf(base64), immutable: flag }),
};
