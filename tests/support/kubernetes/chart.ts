import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseAllDocuments } from 'yaml';

const chart = fileURLToPath(new URL('../../../infra/helm/corral', import.meta.url));

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
  /** Of a ClusterRoleBinding. */
  readonly roleRef?: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** Runs Helm. @throws Error with its output */
export function runHelm(helm: string, ...args: string[]): string {
  return execFileSync(helm, args, { cwd: chart, encoding: 'utf8', stdio: 'pipe' });
}

/** @param settings arguments of `helm template`, such as `--set` and `database.host=db` */
export function renderChart(helm: string, valuesFile: string, ...settings: string[]): Rendered[] {
  const args = ['template', 'corral', '.', '--kube-version', '1.34.0', '--values', valuesFile, ...settings];
  return parseAllDocuments(runHelm(helm, ...args))
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);
}

const { kinds, $defs } = JSON.parse(readFileSync(new URL('kinds.schema.json', import.meta.url), 'utf8'));
const ajv = new Ajv2020({ strict: false, allErrors: true });
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

/** The pods of a Deployment, Job or Pod; null for other kinds. */
export function podOf({ kind, spec }: Rendered): PodSpec | null {
  if (kind === 'Pod') return spec;
  return kind === 'Deployment' || kind === 'Job' ? spec.template.spec : null;
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
