import type { ClusterSpec } from '@corral/contracts';
import { isSame } from './plan.js';
import { readDocument, withField, withPool } from './spec-document.js';

/** A field that differs between the beginning of a change, the present and the change. Undefined: absent. */
export interface FieldDifference {
  /** Its path, such as `network.podCIDR`, `nodePools.general.maximum`, or `nodePools.general` for a pool that one of them lacks. */
  readonly field: string;
  readonly began: unknown;
  readonly now: unknown;
  readonly yours: unknown;
  /** The side that changed it. */
  readonly by: 'them' | 'you' | 'both';
}

export type Choice = 'now' | 'yours';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Compares three specifications by field; pools match by name. Fields that both changed to the same value do not differ.
 */
export function differencesOf(began: ClusterSpec, now: ClusterSpec, yours: Partial<ClusterSpec>): FieldDifference[] {
  const specs = [began, now, { ...began, ...yours }] as const;
  const hasPool = (name: string) => specs.every(({ nodePools }) => nodePools?.some((pool) => pool.name === name));
  const everywhere = new Set(began.nodePools.map(({ name }) => name).filter(hasPool));
  const [first = {}, second = {}, third = {}] = specs.map((spec) => fieldsOf(spec, everywhere));
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
  const [, pool, ...rest] = field.split('.');
  if (!field.startsWith(POOLS)) return withField(text, field.split('.'), value);
  const index = readDocument(text).spec?.nodePools?.findIndex(({ name }) => name === pool) ?? -1;
  if (index >= 0) return withField(text, ['nodePools', index, ...rest], value);
  return value === undefined ? text : withPool(text, value);
}

const POOLS = 'nodePools.';

/** One entry per field. A pool that not all three have is one entry. */
function fieldsOf({ network, nodePools, ...others }: Partial<ClusterSpec>, everywhere: ReadonlySet<string>): Fields {
  return {
    ...others,
    ...prefixed('network.', network ?? {}),
    ...Object.assign({}, ...(nodePools ?? []).map((pool) => fieldsOfPool(pool, everywhere))),
  };
}

function fieldsOfPool(pool: ClusterSpec['nodePools'][number], everywhere: ReadonlySet<string>): Fields {
  const key = `${POOLS}${pool.name}`;
  return everywhere.has(pool.name) ? prefixed(`${key}.`, pool) : { [key]: pool };
}

const prefixed = (prefix: string, fields: object): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [prefix + name, value]));
