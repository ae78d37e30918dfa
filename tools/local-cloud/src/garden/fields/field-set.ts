import { type Fields, isFields } from '../kube/object.js';

/**
 * A set of fields of an object as a tree. Steps are written as in `FieldsV1`: `f:<name>` for a field,
 * `k:{"name":"a"}` for an item of a keyed list, `v:"a"` for an item of a set.
 */
export interface FieldSet {
  /** Whether the set contains the field itself, not only fields below it. */
  readonly member: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

const none: ReadonlyMap<string, FieldSet> = new Map();

export const emptySet: FieldSet = { member: false, children: none };

export const leaf: FieldSet = { member: true, children: none };

/** Builds a set and drops empty children. */
export function fieldSet(member: boolean, children: Iterable<readonly [string, FieldSet]>): FieldSet {
  return { member, children: new Map([...children].filter(([, child]) => !isEmpty(child))) };
}

export const isEmpty = ({ member, children }: FieldSet): boolean => !member && children.size === 0;

const combine =
  (member: (a: boolean, b: boolean) => boolean, onlyInA: boolean, onlyInB: boolean) =>
  (a: FieldSet, b: FieldSet): FieldSet => {
    const walk = (left: FieldSet, right: FieldSet): FieldSet => {
      const children: [string, FieldSet][] = [];
      for (const [step, child] of left.children) {
        const other = right.children.get(step);
        if (other !== undefined) children.push([step, walk(child, other)]);
        else if (onlyInA) children.push([step, child]);
      }
      if (onlyInB) {
        for (const [step, child] of right.children) if (!left.children.has(step)) children.push([step, child]);
      }
      return fieldSet(member(left.member, right.member), children);
    };
    return walk(a, b);
  };

export const union = combine((a, b) => a || b, true, true);
/** Removes exactly the members of `b` from `a`. Fields below a removed member stay. */
export const difference = combine((a, b) => a && !b, true, false);
export const intersection = combine((a, b) => a && b, false, false);

/** Removes fields and everything below them. */
export function without(set: FieldSet, ...paths: readonly (readonly string[])[]): FieldSet {
  return paths.reduce((kept, path) => withoutPath(kept, path), set);
}

function withoutPath(set: FieldSet, [step, ...rest]: readonly string[]): FieldSet {
  const child = step === undefined ? undefined : set.children.get(step);
  if (step === undefined || child === undefined) return set;
  const children = new Map(set.children);
  if (rest.length === 0) children.delete(step);
  else children.set(step, withoutPath(child, rest));
  return fieldSet(set.member, children);
}

/** The form of `managedFields[].fieldsV1`. */
export function toFieldsV1(set: FieldSet): Fields {
  const entries = [...set.children].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([step, child]) => {
      const below = toFieldsV1(child);
      return [step, child.member && child.children.size > 0 ? { '.': {}, ...below } : below];
    }),
  );
}

export function fromFieldsV1(fields: Fields): FieldSet {
  const children: [string, FieldSet][] = [];
  for (const [step, below] of Object.entries(fields)) {
    if (step === '.' || !isFields(below)) continue;
    const child = fromFieldsV1(below);
    children.push([step, { member: child.children.size === 0 || Object.hasOwn(below, '.'), children: child.children }]);
  }
  return fieldSet(false, children);
}

/** The members in the notation of Kubernetes messages, for example `.spec.provider.workers[name="a"].maximum`. */
export function pathsOf(set: FieldSet, at = ''): string[] {
  const below = [...set.children].flatMap(([step, child]) => pathsOf(child, at + shownStep(step)));
  return set.member ? [at, ...below] : below;
}

function shownStep(step: string): string {
  const rest = step.slice(2);
  if (step.startsWith('f:')) return `.${rest}`;
  if (step.startsWith('v:')) return `[=${rest}]`;
  const keys = Object.entries(JSON.parse(rest) as Fields);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}
