/** The sets visible to a caller: those of a team or demo, or at and below one name. */
export interface RrsetScope {
  readonly zoneId: number;
  readonly ownerLabel: string;
  /** The owner's name, or the name that its token is narrowed to. */
  readonly root: string;
}

/** One label condition of a selector. */
export interface LabelRequirement {
  readonly key: string;
  /** Null for any value. */
  readonly values: readonly string[] | null;
  /** Inverts the condition. A set without the label then matches. */
  readonly negated: boolean;
}

export interface SortKey {
  readonly by: 'id' | 'name' | 'created';
  readonly descending: boolean;
}

/** Filters and order of the sets within a scope. */
export interface RrsetSelection {
  /** Null for any. */
  readonly name: string | null;
  /** Empty for any. */
  readonly types: readonly string[];
  /** All must hold; null for any labels. */
  readonly labels: readonly LabelRequirement[] | null;
  /** Ties are broken by id, so that pages do not overlap. */
  readonly sort: readonly SortKey[];
}

export interface PageLookUp {
  readonly scope: RrsetScope;
  /** The team that owns the scope; null for a demo. */
  readonly teamId: string | null;
  readonly selection: RrsetSelection;
  readonly limit: number;
  /** Zero-based. */
  readonly offset: number;
}

export interface Statement {
  /** Present for a statement worth preparing. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Byte order, independent of the database's collation. */
const columns = {
  id: (of: string) => `(${of}.name || '/' || ${of}.type) COLLATE "C"`,
  name: (of: string) => `${of}.name COLLATE "C"`,
  created: () => 'rrset.first_seen_at',
} as const;

/**
 * A parameter whose value the planner does not see. If it saw it, it would often expect less work than for any value, and would plan a
 * prepared statement again each time, which takes longer than a read.
 */
export const unseen = (type: string, place: number): string => `(SELECT $${place}::${type})`;

const ofOwner = (of: string, zoneId: string, ownerLabel: string): string =>
  `${of}.zone_id = ${zoneId} AND ${of}.owner_label = ${ownerLabel}`;

const below = (name: string, root: string): string =>
  `(${name} = ${root} OR right(${name}, length(${root}) + 1) = '.' || ${root})`;

/** SQL condition on the scope in the first three parameters. */
export const inScope = `${ofOwner('dns_rrset', '$1', '$2')} AND ${below('name', '$3')}`;

/**
 * Builds the statement for one page. It returns one row: the number of sets on all pages, and the bodies of this page
 * as one text that is ready to send. Only those bodies leave the database. What it reads grows with the page, not with
 * what the owner has: see decision 0086.
 */
export function pageStatement({ scope, selection, limit, offset }: Omit<PageLookUp, 'teamId'>): Statement {
  const values: unknown[] = [];
  const parameter: Parameter = (type, value) => {
    values.push(value);
    return unseen(type, values.length);
  };
  const source = sourceOf(scope, selection, parameter);
  const text = `
    SELECT ${source.counted ?? `(SELECT count(*)::int FROM ${source.table} WHERE ${allOf(source)})`} AS total,
           (SELECT coalesce(string_agg(body, ','), '') FROM (
              SELECT body FROM (${inOrder(source, selection.sort, reachOf(limit + offset))}) AS ordered
              LIMIT ${parameter('bigint', limit)} OFFSET ${parameter('bigint', offset)}
            ) AS page) AS bodies`;
  // The most common page is prepared at its first use.
  const isCommon = values.length === 4 && selection.sort.length === 0 && limit + offset <= REACHES[0];
  return isCommon ? { name: 'rrset-page', text, values } : { text, values };
}

/**
 * The first sets in order: as many as `reach`, if there are. At first only by the first key, with all that are equal by it, as an
 * index has them: otherwise Postgres sorts all sets of an owner that it expects to have few.
 */
function inOrder(source: Source, sort: readonly SortKey[], reach: number | null): string {
  const { table, of, conditions, each } = source;
  const bodies =
    of === 'rrset'
      ? table
      : `${table} JOIN dns_rrset AS rrset
           ON rrset.zone_id = ${of}.zone_id AND rrset.name = ${of}.name AND rrset.type = ${of}.type`;
  const [firstKey, ...ties] = orderOf(sort, of) as [string, ...string[]];
  const isUnique = ties.length === 0;
  const limit = reach === null ? '' : isUnique ? `LIMIT ${reach}` : `FETCH FIRST ${reach} ROWS WITH TIES`;
  const rows = (more: readonly string[]): string => `
    SELECT rrset.name, rrset.type, rrset.first_seen_at, rrset.body FROM ${bodies}
    WHERE ${[...conditions, ...more].join(' AND ')}
    ORDER BY ${firstKey} ${limit}`;
  if (each === null && isUnique) return rows([]);
  const found =
    each === null
      ? `(${rows([])}) AS rrset`
      : `(${each.values}) AS wanted CROSS JOIN LATERAL (${rows([`${of}.${each.column} = wanted.one`])}) AS rrset`;
  return `SELECT rrset.body FROM ${found} ORDER BY ${orderOf(sort, 'rrset').join(', ')}`;
}

/**
 * How many sets are read in order at most, as a number that the planner sees: without one it would expect to read a tenth of all
 * sets, and might rather sort them. Few different numbers, so that few statements are prepared.
 */
const reachOf = (last: number): number | null => REACHES.find((reach) => reach >= last) ?? null;
const REACHES = [64, 256, 1_024, 4_096, 16_384, 65_536, 262_144] as const;

/** Ids are unique, so keys after the id have no effect. */
function orderOf(sort: readonly SortKey[], of: string): string[] {
  const keys = new Map<SortKey['by'], boolean>();
  for (const { by, descending } of [...sort, { by: 'id', descending: false } as const]) {
    if (!keys.has(by) && !keys.has('id')) keys.set(by, descending);
  }
  return [...keys].map(([by, descending]) => `${columns[by](of)} ${descending ? 'DESC' : 'ASC'}`);
}

/** Sets that match a selection within a scope, in SQL. */
interface Source {
  /** With its alias, `of`. */
  readonly table: string;
  readonly of: 'rrset' | 'found';
  readonly conditions: readonly string[];
  /**
   * Sets with each of several values of a column, which an index has in order for one value: `values` are rows with the column
   * `one`. Null if all sets that fulfil the conditions match.
   */
  readonly each: { readonly column: 'type' | 'value'; readonly values: string } | null;
  /** How many match, where this is known without reading them. */
  readonly counted: string | null;
}

/** Adds a parameter of a type to a statement. @returns its SQL */
type Parameter = (type: string, value: unknown) => string;

/** Whether the scope is all that its owner has, so that counts of the owner are those of the scope. */
export const isWhole = ({ ownerLabel, root }: Pick<RrsetScope, 'ownerLabel' | 'root'>): boolean => root === ownerLabel;

/** Where the sets of a page come from: the rows of the owner, or those of a label that all of them have. */
function sourceOf(scope: RrsetScope, { name, types, labels }: RrsetSelection, parameter: Parameter): Source {
  const [zoneId, owner] = [parameter('bigint', scope.zoneId), parameter('text', scope.ownerLabel)];
  const asked = (labels ?? []).map((requirement) => labelSql(requirement, parameter));
  const leading = asked.find(({ negated }) => !negated);
  const of = leading === undefined ? 'rrset' : 'found';
  const ofTypes = types.length === 0 ? null : rowsOf(types, parameter);

  const conditions = [ofOwner(of, zoneId, owner)];
  if (!isWhole(scope)) conditions.push(below(`${of}.name`, parameter('text', scope.root)));
  const named = name === null ? null : parameter('text', findable(name));
  if (named !== null) conditions.push(`${of}.name = ${named}`);
  const isOfOwner = conditions.length === 1;
  if (leading !== undefined) conditions.push(`${of}.${leading.ofKey}`);
  conditions.push(...asked.filter((one) => one !== leading).map((one) => hasLabel(one, of)));

  const sumOf = (counts: string, more: readonly string[]): string =>
    `(SELECT coalesce(sum(sets), 0)::int FROM ${counts} AS held WHERE ${[ofOwner('held', zoneId, owner), ...more].join(' AND ')})`;
  const counted = !isOfOwner ? null : countedBy(asked, ofTypes, sumOf);
  if (leading !== undefined) {
    const held = `SELECT value AS one FROM dns_rrset_label_count AS held WHERE ${ofOwner('held', zoneId, owner)} AND ${leading.ofKey}`;
    if (ofTypes !== null) conditions.push(`${of}.type IN (${ofTypes})`);
    const each = { column: 'value', values: leading.values ?? held } as const;
    return { table: 'dns_rrset_label AS found', of, conditions, each, counted };
  }
  const each = ofTypes === null ? null : ({ column: 'type', values: ofTypes } as const);
  const table = named === null ? 'dns_rrset AS rrset' : `(${setsNamed(zoneId, named)}) AS rrset`;
  return { table, of, conditions, each, counted };
}

/** `OFFSET 0`: they are read first. Where Postgres expects an owner to have few sets, it would read all of them rather than these. */
const setsNamed = (zoneId: string, name: string): string =>
  `SELECT zone_id, owner_label, name, type, first_seen_at, body FROM dns_rrset WHERE zone_id = ${zoneId} AND name = ${name} OFFSET 0`;

const allOf = ({ of, conditions, each }: Source): string =>
  [...conditions, ...(each === null ? [] : [`${of}.${each.column} IN (${each.values})`])].join(' AND ');

/** Counts exist for types, and for labels of any type. */
function countedBy(
  asked: readonly LabelSql[],
  ofTypes: string | null,
  sumOf: (counts: string, more: readonly string[]) => string,
): string | null {
  const all = sumOf('dns_rrset_count', ofTypes === null ? [] : [`type IN (${ofTypes})`]);
  const [label, ...others] = asked;
  if (label === undefined) return all;
  if (others.length > 0 || ofTypes !== null) return null;
  const labelled = sumOf('dns_rrset_label_count', [label.fits]);
  return label.negated ? `${all} - ${labelled}` : labelled;
}

/** A requirement as conditions on the columns `key` and `value`. */
interface LabelSql {
  readonly negated: boolean;
  readonly ofKey: string;
  /** Rows with the column `one`; null for any value. */
  readonly values: string | null;
  readonly fits: string;
}

function labelSql({ key, values, negated }: LabelRequirement, parameter: Parameter): LabelSql {
  const ofKey = `key = ${parameter('text', findable(key))}`;
  if (values === null) return { negated, ofKey, values, fits: ofKey };
  const rows = rowsOf(values, parameter);
  return { negated, ofKey, values: rows, fits: `${ofKey} AND value IN (${rows})` };
}

const hasLabel = ({ negated, fits }: LabelSql, of: string): string => `
  ${negated ? 'NOT ' : ''}EXISTS (
    SELECT FROM dns_rrset_label AS own
    WHERE own.zone_id = ${of}.zone_id AND own.name = ${of}.name AND own.type = ${of}.type AND ${fits})`;

/** The cast makes it an array rather than a subquery with rows. */
const rowsOf = (texts: readonly string[], parameter: Parameter): string =>
  `SELECT one FROM unnest(${parameter('text[]', [...new Set(texts.map(findable))])}::text[]) AS given (one)`;

/** No set has an empty name or type, and Postgres rejects NUL in text. */
const findable = (text: string): string => (text.includes('\0') ? '' : text);
