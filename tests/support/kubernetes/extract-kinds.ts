import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartDefinitions, goModule } from '@corral/testing/go-programs';
import { parse } from 'yaml';

export type Schema = Readonly<Record<string, unknown>>;

/** The schemas of all kinds that the chart may contain. */
export interface Kinds {
  readonly $comment: string;
  /** Schemas by `apiVersion/Kind`. */
  readonly kinds: Readonly<Record<string, { readonly $ref: string }>>;
  readonly $defs: Readonly<Record<string, Schema>>;
}

const kubernetes = 'k8s.io/kubernetes@v1.36.3';
/** Kinds of Kubernetes by the document of its API that has them. */
const own: Readonly<Record<string, readonly string[]>> = {
  api__v1: ['ConfigMap', 'PersistentVolumeClaim', 'Pod', 'Secret', 'Service', 'ServiceAccount'],
  apis__apps__v1: ['Deployment'],
  apis__batch__v1: ['CronJob', 'Job'],
  apis__policy__v1: ['PodDisruptionBudget'],
  'apis__networking.k8s.io__v1': ['Ingress', 'NetworkPolicy'],
  apis__autoscaling__v2: ['HorizontalPodAutoscaler'],
  'apis__rbac.authorization.k8s.io__v1': ['ClusterRoleBinding'],
};

/** A definition of custom resources, as far as it is read. */
export interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/**
 * Reads the schemas from the sources of the kinds, in the Go module proxy.
 *
 * @returns null without Go or a module proxy
 */
export function extractKinds(): Kinds | null {
  const read = (module: string, path: string): string | null => {
    const folder = goModule(module);
    return folder === null ? null : readFileSync(join(folder, path), 'utf8');
  };
  const kinds: Record<string, { $ref: string }> = {};
  const $defs: Record<string, Schema> = {};
  for (const [document, names] of Object.entries(own)) {
    const text = read(kubernetes, `api/openapi-spec/v3/${document}_openapi.json`);
    if (text === null) return null;
    const { schemas } = JSON.parse(text).components as { readonly schemas: Readonly<Record<string, Schema>> };
    const [, group, version] = document.match(/^apis?__(?:(.*)__)?(.*)$/) as RegExpMatchArray;
    for (const kind of names) {
      const name = Object.keys(schemas).find((each) =>
        isKind(schemas[each] as Schema, group ?? '', version ?? '', kind),
      );
      if (name === undefined) throw new Error(`${document} has no ${kind}.`);
      kinds[`${group === undefined ? '' : `${group}/`}${version}/${kind}`] = { $ref: `#/$defs/${name}` };
      keep(name, schemas, $defs);
    }
  }
  for (const [module, path] of chartDefinitions) {
    const text = read(module, path);
    if (text === null) return null;
    const { group, names, versions } = (parse(text) as Definition).spec;
    const stored = versions.find(({ storage }) => storage);
    if (stored === undefined) throw new Error(`${path} has no stored version.`);
    kinds[`${group}/${stored.name}/${names.kind}`] = { $ref: `#/$defs/${names.kind}` };
    const schema = strict(stored.schema.openAPIV3Schema) as { readonly properties: Schema };
    const metadata = { $ref: `#/$defs/${OBJECT_META}` };
    $defs[names.kind] = { ...schema, properties: { ...schema.properties, metadata } };
  }
  return {
    $comment: `Written by \`${HOW}\` from ${[kubernetes, ...new Set(chartDefinitions.map(([module]) => module))].join(', ')}; without descriptions, formats and defaults, and with no members but those that are described.`,
    kinds,
    $defs: Object.fromEntries(Object.entries($defs).sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

const HOW = 'CORRAL_WRITE_DOCS=1 npm run test:long -- helm';
const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

function isKind(schema: Schema, group: string, version: string, kind: string): boolean {
  const known = (schema['x-kubernetes-group-version-kind'] ?? []) as readonly GroupVersionKind[];
  return known.some((each) => each.group === group && each.version === version && each.kind === kind);
}

/** Keeps a schema with all that it refers to. */
function keep(name: string, schemas: Readonly<Record<string, Schema>>, $defs: Record<string, Schema>): void {
  if (name in $defs) return;
  const schema = strict(schemas[name]) as Schema;
  $defs[name] = schema;
  for (const [, other] of JSON.stringify(schema).matchAll(/"#\/\$defs\/([^"]+)"/g))
    keep(other as string, schemas, $defs);
}

/** Says nothing about what an object must be. */
const silent = new Set(['description', 'format', 'default', 'nullable', 'externalDocs', 'title', 'example']);

/** A schema of OpenAPI 3.0 as JSON Schema. Objects have no members but those that it describes, as the API server prunes them. */
export function strict(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(strict);
  if (typeof node !== 'object' || node === null) return node;
  const from = node as Schema;
  const to: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(from)) {
    if (silent.has(name) || name.startsWith('x-kubernetes-')) continue;
    if (name === 'properties') {
      to.properties = Object.fromEntries(Object.entries(value as Schema).map(([key, each]) => [key, strict(each)]));
    } else if (name === '$ref') to.$ref = (value as string).replace('#/components/schemas/', '#/$defs/');
    else to[name] = strict(value);
  }
  if (from['x-kubernetes-int-or-string'] === true) to.type = ['integer', 'string'];
  if (from.nullable === true && typeof to.type === 'string') to.type = [to.type, 'null'];
  const isOpen = from['x-kubernetes-preserve-unknown-fields'] === true || 'additionalProperties' in from;
  if (to.properties !== undefined && !isOpen) to.additionalProperties = false;
  return to;
}
