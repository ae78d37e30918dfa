import type { ClusterSpec } from '@corral/contracts';
import { isSame } from './plan.js';

/** A field that differs between the beginning of a change, the present and the change. Undefined: absent. */
export interface FieldDifference {
  /** Such as `kubernetesVersion`, `network.podCIDR` or `nodePools.general`. */
  readonly field: string;
  readonly began: unknown;
  readonly now: unknown;
  readonly yours: unknown;
  /** Who changed it. */
  readonly by: 'them' | 'you' | 'both';
}

export type Choice = 'now' | 'yours';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Compares three specifications by field; pools match by name. Fields that both changed to the same value do not differ.
 */
export function differencesOf(began: ClusterSpec, now: ClusterSpec, yours: Partial<ClusterSpec>): FieldDifference[] {
  const [first, second, third] = [fieldsOf(began), fieldsOf(now), fieldsOf({ ...began, ...yours })];
  const names = [...new Set([first, second, third].flatMap((fields) => Object.keys(fields)))];
  return names.flatMap((field) => {
    const [a, b, c] = [first[field], second[field], third[field]];
    if (isSame(b, c)) return [];
    const by = isSame(a, c) ? ('them' as const) : isSame(a, b) ? ('you' as const) : ('both' as const);
    return [{ field, began: a, now: b, yours: c, by }];
  });
}

/**
 * The specification with the changes of both. Their changes are taken over, yours are kept.
 *
 * @param choices by field, for those that both changed
 * @returns null while a choice is missing
 */
export function mergedSpec(
  now: ClusterSpec,
  differences: readonly FieldDifference[],
  choices: Readonly<Record<string, Choice>>,
): ClusterSpec | null {
  const open = differences.some(({ by, field }) => by === 'both' && choices[field] === undefined);
  if (open) return null;
  const fields: Record<string, unknown> = { ...fieldsOf(now) };
  for (const { field, by, yours } of differences) {
    if (by === 'them' || (by === 'both' && choices[field] === 'now')) continue;
    if (yours === undefined) delete fields[field];
    else fields[field] = yours;
  }
  return specOf(fields);
}

const POOL = /^nodePools\.([^.]+)$/;
const NETWORK = 'network.';

/** One entry per field. A pool is one entry: half of one pool and half of another is no pool that anybody wanted. */
function fieldsOf(spec: Partial<ClusterSpec>): Fields {
  const { network, nodePools, ...others } = spec;
  return {
    ...others,
    ...Object.fromEntries(Object.entries(network ?? {}).map(([name, value]) => [`${NETWORK}${name}`, value])),
    ...Object.fromEntries((nodePools ?? []).map((pool) => [`nodePools.${pool.name}`, pool])),
  };
}

function specOf(fields: Fields): ClusterSpec {
  const entries = Object.entries(fields);
  const inNetwork = entries.filter(([field]) => field.startsWith(NETWORK));
  const pools = entries.filter(([field]) => POOL.test(field));
  const others = entries.filter(([field]) => !field.startsWith(NETWORK) && !POOL.test(field));
  return {
    ...Object.fromEntries(others),
    network: Object.fromEntries(inNetwork.map(([field, value]) => [field.slice(NETWORK.length), value])),
    nodePools: pools.map(([, pool]) => pool),
  } as unknown as ClusterSpec;
}
