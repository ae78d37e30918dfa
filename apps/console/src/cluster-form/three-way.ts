import type { ClusterSpec } from '@corral/contracts';
import { isSame } from './plan.js';
import { readDocument, withField, withPool } from './spec-document.js';

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
 * Your document with the changes of both: their changes are written into it, and your comments stay.
 *
 * @param text your document, which must be valid
 * @param choices by field, for those that both changed
 * @returns null while a choice is missing
 */
export function mergedText(
  text: string,
  differences: readonly FieldDifference[],
  choices: Readonly<Record<string, Choice>>,
): string | null {
  if (differences.some(({ by, field }) => by === 'both' && choices[field] === undefined)) return null;
  const taken = differences.filter(({ by, field }) => by === 'them' || (by === 'both' && choices[field] === 'now'));
  return taken.reduce((merged, { field, now }) => withFieldOf(merged, field, now), text);
}

function withFieldOf(text: string, field: string, value: unknown): string {
  const pool = POOL.exec(field)?.[1];
  if (pool === undefined) return withField(text, field.split('.'), value);
  const index = readDocument(text).spec?.nodePools?.findIndex(({ name }) => name === pool) ?? -1;
  if (index >= 0) return withField(text, ['nodePools', index], value);
  return value === undefined ? text : withPool(text, value);
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
