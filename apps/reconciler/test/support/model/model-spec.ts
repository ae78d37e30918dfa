import { isDeepStrictEqual } from 'node:util';

/** The specification of a Shoot. */
export type Spec = Record<string, unknown>;
export interface Worker {
  name: string;
  minimum: number;
  maximum: number;
}

/** Whether a specification contains everything rendered. Maintenance may have raised its version. */
export function holds(spec: Spec, rendered: Spec): boolean {
  const version = at(spec, 'spec.kubernetes.version');
  const kubernetes = isLower(version, at(rendered, 'spec.kubernetes.version')) ? rendered.kubernetes : { version };
  return isDeepStrictEqual(merged(spec, { ...rendered, kubernetes }), spec);
}

/** What an apply does to owned fields: merges workers by name, and replaces the rest. */
export function merged(live: Spec, applied: Spec): Spec {
  const { seedName } = live;
  const workers = workersOf(applied);
  return withWorkers({ ...clone(applied), ...(seedName === undefined ? {} : { seedName }) }, workers);
}

export function workersOf(spec: Spec): Worker[] {
  return (spec.provider as { workers: Worker[] }).workers;
}

export function withWorkers(spec: Spec, workers: Worker[]): Spec {
  return { ...spec, provider: { ...(spec.provider as object), workers } };
}

/** The value at a path, or undefined. */
export function at(spec: Spec, path: string): unknown {
  return stepsOf(path).slice(1).reduce<unknown>(stepInto, spec);
}

/** The path as in managed fields. */
export function fieldsAt(path: string): Spec {
  return stepsOf(path).reduceRight<Spec>(
    (below, step) => ({ [typeof step === 'string' ? `f:${step}` : `k:${JSON.stringify(step)}`]: below }),
    {},
  );
}

type PathStep = string | { readonly name: string };

/** Reads `.spec.provider.workers[name="p1"].maximum`. */
function stepsOf(path: string): PathStep[] {
  return [...path.matchAll(/([^.[\]]+)(?=[.[]|$)|\[name="([^"]*)"\]/g)].map(([, field, name]) =>
    field === undefined ? { name: name ?? '' } : field,
  );
}

function stepInto(value: unknown, step: PathStep): unknown {
  if (typeof step === 'string') return (value as Spec | undefined)?.[step];
  return Array.isArray(value) ? value.find(({ name }) => name === step.name) : undefined;
}

export function putAt(spec: Spec, path: string, value: unknown): void {
  const steps = stepsOf(path).slice(1);
  const last = steps.pop();
  const parent = steps.reduce<unknown>(stepInto, spec);
  if (typeof last === 'string' && typeof parent === 'object' && parent !== null) (parent as Spec)[last] = value;
}

export function isLower(one: unknown, other: unknown): boolean {
  return String(one).localeCompare(String(other), 'en', { numeric: true }) < 0;
}

/** Under Jest, `structuredClone` returns objects of another realm, which are never strictly equal to ours. */
export const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
