import { isObject } from '@corral/contracts';
import type { ClusterDocument } from './documents.js';

type Spec = Readonly<Record<string, unknown>>;

/**
 * The specification that is sent for a document. Of a cluster that exists, the fields that the document ignores are as they are now, and
 * its version stays if it is at least the least one.
 *
 * @param present specification of the cluster; null if there is none yet, so that everything is as the document says
 */
export function resolvedSpec({ spec, ignore = [], minKubernetesVersion }: ClusterDocument, present: Spec | null): Spec {
  const versioned =
    minKubernetesVersion === undefined
      ? spec
      : { ...spec, kubernetesVersion: versionFrom(minKubernetesVersion, present?.kubernetesVersion) };
  if (present === null) return versioned;
  return ignore.reduce<Spec>((declared, path) => kept(declared, present, path.split('/')) as Spec, versioned);
}

/** Takes over what is present at a path. `*` stands for each member; those of a list are found by their `name`. */
function kept(declared: unknown, present: unknown, [head, ...rest]: readonly string[]): unknown {
  if (head === undefined) return present;
  if (Array.isArray(declared)) {
    const others = Array.isArray(present) ? present : [];
    return declared.map((item) => {
      const name = nameOf(item);
      const same = name === undefined ? undefined : others.find((other) => nameOf(other) === name);
      return same === undefined || (head !== '*' && head !== name) ? item : kept(item, same, rest);
    });
  }
  if (!isObject(declared) || !isObject(present)) return declared;
  const result = { ...declared };
  for (const name of head === '*' ? Object.keys({ ...declared, ...present }) : [head]) {
    if (rest.length > 0) {
      if (name in declared) result[name] = kept(declared[name], present[name], rest);
    } else if (name in present) result[name] = present[name];
    else delete result[name];
  }
  return result;
}

const nameOf = (item: unknown): unknown => (isObject(item) ? item.name : undefined);

/** A minor version stands for its newest patch version. */
function versionFrom(least: string, present: unknown): string {
  if (typeof present !== 'string') return least;
  const [wanted, has] = [least, present].map((version) => version.split('.').map(Number)) as [number[], number[]];
  for (const at of [0, 1, 2]) {
    const difference = (has[at] ?? Number.POSITIVE_INFINITY) - (wanted[at] ?? 0);
    if (difference !== 0) return difference > 0 ? present : least;
  }
  return present;
}
