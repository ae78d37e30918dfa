import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseAllDocuments } from 'yaml';
import type { Kinds } from './extract-kinds.js';

const chart = fileURLToPath(new URL('../../../infra/helm/corral', import.meta.url));

/** The sets of values that the chart is tested with, as paths in it. */
export const valueSets = readdirSync(join(chart, 'ci')).map((name) => `ci/${name}`);

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly securityContext: Readonly<Record<string, unknown>>;
}

export interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly automountServiceAccountToken: boolean;
}

/** An object as `helm template` prints it. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: of any kind; the tests read what they know
  readonly spec: any;
  /** The role of a ClusterRoleBinding. */
  readonly roleRef?: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** Runs Helm. @throws Error with its output */
export function runHelm(helm: string, ...args: string[]): string {
  return execFileSync(helm, args, { cwd: chart, encoding: 'utf8', stdio: 'pipe' });
}

const rendered = new Map<string, Rendered[]>();

/**
 * The objects that `helm template` prints, rendered once per file of tests.
 *
 * @param settings its arguments, such as `--set` and `database.host=db`
 */
export function renderChart(helm: string, valuesFile: string, ...settings: string[]): Rendered[] {
  const args = ['template', 'corral', '.', '--kube-version', '1.34.0', '--values', valuesFile, ...settings];
  const known = rendered.get(args.join('\0'));
  if (known !== undefined) return known;
  const documents = parseAllDocuments(runHelm(helm, ...args)).map((document) => document.toJS() as Rendered | null);
  const objects = documents.filter((object) => object !== null);
  rendered.set(args.join('\0'), objects);
  return objects;
}

/** The schemas of the kinds that the chart may contain. */
export const kindsFile = fileURLToPath(new URL('kinds.schema.json', import.meta.url));
const { kinds, $defs } = JSON.parse(readFileSync(kindsFile, 'utf8')) as Kinds;
/** Patterns of the sources are of Go, which says in a pattern that case is ignored. */
const goPattern = Object.assign(
  (pattern: string, flags: string) =>
    new RegExp(pattern.replace('(?i)', ''), pattern.includes('(?i)') ? `${flags}i` : flags),
  { code: 'goPattern' },
);
const ajv = new Ajv2020({ strict: false, allErrors: true, code: { regExp: goPattern } });
ajv.addSchema({ $id: 'kubernetes', $defs });

/** What is wrong with an object, by the schema of its kind. */
export function problemsOf({ apiVersion, kind, ...rest }: Rendered): string[] {
  const known = kinds[`${apiVersion}/${kind}`];
  if (known === undefined) return [`${apiVersion}/${kind} has no schema`];
  const check = ajv.getSchema(`kubernetes${known.$ref}`);
  if (check === undefined) throw new Error(`There is no ${known.$ref}.`);
  check({ apiVersion, kind, ...rest });
  return (check.errors ?? []).map((error) => `${kind} ${rest.metadata.name} ${error.instancePath} ${error.message}`);
}

export interface PodTemplate {
  readonly metadata: {
    /** Templates have none. */
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Rendered['spec'];
}

/** The pod of an object as a template with `metadata` and `spec`; null for kinds without one. */
export function podTemplateOf({ kind, metadata, spec }: Rendered): PodTemplate | null {
  if (kind === 'Pod') return { metadata, spec };
  if (kind === 'CronJob') return spec.jobTemplate.spec.template;
  return kind === 'Deployment' || kind === 'Job' ? spec.template : null;
}

/** The pods of a Deployment, Job, CronJob or Pod; null for other kinds. */
export const podOf = (object: Rendered): PodSpec | null => podTemplateOf(object)?.spec ?? null;

export const containersOf = (objects: readonly Rendered[]): Container[] =>
  objects.map(podOf).flatMap((pod) => [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]);

/** @throws Error if no pod has it */
export function containerOf(objects: readonly Rendered[], name: string): Container {
  const container = containersOf(objects).find((each) => each.name === name);
  if (container === undefined) throw new Error(`The chart has no container ${name}.`);
  return container;
}

/** The environment of a container, with the values of the Secrets that the chart makes. */
export function environmentOf({ env }: Container, objects: readonly Rendered[]): Record<string, string> {
  const read = ({ name, value, valueFrom }: EnvironmentVariable): string => {
    if (valueFrom === undefined) return value ?? '';
    const { name: secretName, key } = valueFrom.secretKeyRef;
    const secret = objects.find((object) => object.kind === 'Secret' && object.metadata.name === secretName);
    const encoded = secret?.data?.[key];
    if (encoded === undefined) throw new Error(`${name}: the chart makes no Secret ${secretName} with ${key}.`);
    return Buffer.from(encoded, 'base64').toString();
  };
  return Object.fromEntries(env.map((variable) => [variable.name, read(variable)]));
}
