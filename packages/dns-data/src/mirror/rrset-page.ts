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
  created: (of: string) => `${of}.first_seen_at`,
} as const;

/**
 * A parameter whose value the planner does not see. If it saw it, it would often expect less work than for any value, and would plan a
 * prepared statement again each time, which takes longer than a read.
 */
export const unseen = (type: string, place: number): string => `(SELECT $${place}::${type})`;

const scopeCondition = (zoneId: string, ownerLabel: string, root: string): string =>
  `zone_id = ${zoneId} AND owner_label = ${ownerLabel} AND (name = ${root} OR right(name, length(${root}) + 1) = '.' || ${root})`;

/** SQL condition on the scope in the first three parameters. */
export const inScope = scopeCondition('$1', '$2', '$3');

/**
 * Builds the statement for one page. It returns one row: the number of sets on all pages, and the bodies of this page
 * as one text that is ready to send. Only those bodies leave the database.
 */
export function pageStatement({ scope, selection, limit, offset }: PageLookUp): Statement {
  const { name, types, labels, sort } = selection;
  const values: unknown[] = [scope.zoneId, scope.ownerLabel, scope.root, limit, offset];
  const zoneId = unseen('bigint', 1);
  const conditions = [scopeCondition(zoneId, unseen('text', 2), unseen('text', 3))];
  const filter = (condition: (value: string) => string, type: string, value: unknown): void => {
    values.push(value);
    conditions.push(condition(unseen(type, values.length)));
  };
  if (name !== null) filter((value) => `name = ${value}`, 'text', findable(name));
  // The cast makes it an array rather than a subquery with rows.
  if (types.length > 0) filter((value) => `type = ANY(${value}::text[])`, 'text[]', types.map(findable));
  if (labels !== null) filter(fitsLabels, 'jsonb', JSON.stringify(labels));
  const text = `
    WITH mine AS MATERIALIZED (
      SELECT name, type, first_seen_at FROM dns_rrset WHERE ${conditions.join(' AND ')}
    ), page AS (
      SELECT name, type, first_seen_at FROM mine ORDER BY ${orderOf(sort, 'mine')}
      LIMIT ${unseen('bigint', 4)} OFFSET ${unseen('bigint', 5)}
    )
    SELECT (SELECT count(*)::int FROM mine) AS total,
           (SELECT coalesce(string_agg(rrset.body, ',' ORDER BY ${orderOf(sort, 'page')}), '')
            FROM page JOIN dns_rrset AS rrset
              ON rrset.zone_id = ${zoneId} AND rrset.name = page.name AND rrset.type = page.type) AS bodies`;
  // The most common page is prepared at its first use.
  return values.length === 5 && sort.length === 0 ? { name: 'rrset-page', text, values } : { text, values };
}

const fitsLabels = (labels: string): string => `NOT EXISTS (
    SELECT FROM jsonb_to_recordset(${labels}) AS required (key text, "values" text[], negated boolean),
      LATERAL (SELECT body::json -> 'labels' AS labels) AS own
    WHERE negated = CASE WHEN required."values" IS NULL THEN (labels -> key) IS NOT NULL
                         ELSE coalesce(labels ->> key = ANY(required."values"), false) END)`;

/** Ids are unique, so keys after the id have no effect. */
function orderOf(sort: readonly SortKey[], table: string): string {
  const keys = new Map<SortKey['by'], boolean>();
  for (const { by, descending } of [...sort, { by: 'id', descending: false } as const]) {
    if (!keys.has(by) && !keys.has('id')) keys.set(by, descending);
  }
  return [...keys].map(([by, descending]) => `${columns[by](table)} ${descending ? 'DESC' : 'ASC'}`).join(', ');
}

/** No set has an empty name or type, and Postgres rejects NUL in text. */
const findable = (text: string): string => (text.includes('\0') ? '' : text);
