import { any, base64, flag, listOf, mapOf, objectSchema, struct, text } from '../fields/schema.js';
import { immutable } from '../kube/field-error.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { conflict } from '../kube/status-error.js';
import { allVerbs, type Kind, nameColumn, numberColumn, textColumn } from './kind.js';

interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string };
}

export const namespaces: Kind<Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  nameIsLabel: true,
  schema: objectSchema({
    spec: struct({ finalizers: listOf(text) }),
    status: struct({ phase: text, conditions: any }),
  }),
  subresources: [],
  userVerbs: allVerbs,
  unconditionalUpdate: true,
  columns: [nameColumn, textColumn('Status', (object) => (object as Namespace).status?.phase ?? '')],
  selectable: [{ field: 'status.phase', read: ({ status }) => status?.phase ?? '' }],
  prepare(namespace, old) {
    namespace.status = old?.status ?? { phase: 'Active' };
    // Selectors can rely on it: https://kubernetes.io/docs/reference/labels-annotations-taints/
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      'kubernetes.io/metadata.name': namespace.metadata.name ?? '',
    };
  },
  judgeDeletion({ metadata: { name = '' } }, { list }) {
    for (const shoot of list('shoots')) {
      if (shoot.metadata.namespace !== name) continue;
      throw conflict(namespaces, name, 'there are still Shoots in this namespace');
    }
  },
};

const immutableData = {
  reason: 'FieldValueForbidden',
  field: 'data',
  message: 'Forbidden: field is immutable when `immutable` is set',
};

export interface Secret extends KubeObject {
  /** Values in base64. */
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  type?: string;
  immutable?: boolean;
}

export const secrets: Kind<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  shortNames: [],
  namespaced: true,
  nameIsLabel: false,
  schema: objectSchema({ data: mapOf(base64), stringData: mapOf(text), type: text, immutable: flag }),
  subresources: [],
  userVerbs: allVerbs,
  unconditionalUpdate: true,
  columns: [
    nameColumn,
    textColumn('Type', (object) => (object as Secret).type ?? ''),
    numberColumn('Data', (object) => Object.keys((object as Secret).data ?? {}).length),
  ],
  selectable: [{ field: 'type', read: ({ type }) => type ?? '' }],
  setDefaults(secret) {
    secret.type ??= 'Opaque';
    // Part of reading the object: whoever writes `stringData` owns `data`, unless by server-side apply.
    if (secret.stringData === undefined) return;
    const written = Object.entries(secret.stringData).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ]);
    secret.data = { ...secret.data, ...Object.fromEntries(written) };
    delete secret.stringData;
  },
  validate(secret, old) {
    if (old === null) return [];
    const errors = secret.type === old.type ? [] : [immutable('type', secret.type)];
    if (old.immutable !== true || equalJson(old.data, secret.data)) return errors;
    return [...errors, immutableData];
  },
};

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

export const configMaps: Kind<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  namespaced: true,
  nameIsLabel: false,
  schema: objectSchema({ data: mapOf(text), binaryData: mapOf(base64), immutable: flag }),
  subresources: [],
  userVerbs: allVerbs,
  unconditionalUpdate: true,
  columns: [nameColumn, numberColumn('Data', (object) => Object.keys((object as ConfigMap).data ?? {}).length)],
  selectable: [],
  validate(map, old) {
    if (old?.immutable !== true) return [];
    const isSame = equalJson(old.data, map.data) && equalJson(old.binaryData, map.binaryData);
    return isSame && map.immutable === true ? [] : [immutableData];
  },
};
