/** Which sets a caller sees: those of one team or demo, or of a name below. */
export interface RrsetScope {
  readonly zoneId: number;
  readonly ownerLabel: string;
  /** The owner's own name, or the one its token is narrowed to. */
  readonly root: string;
}

/** What one label of a set has to be like. */
export interface LabelRequirement {
  readonly key: string;
  /** Null: any value will do. */
  readonly values: readonly string[] | null;
  /** What is required is that none of that is so; a set without the label fits. */
  readonly negated: boolean;
}

export interface SortKey {
  readonly by: 'id' | 'name' | 'created';
  readonly descending: boolean;
}

/** Which sets of a scope are wanted, and in which order. */
export interface RrsetSelection {
  /** Null: any. */
  readonly name: string | null;
  /** Empty: any. */
  readonly types: readonly string[];
  /** All of them; null: any labels. */
  readonly labels: readonly LabelRequirement[] | null;
  /** What it does not decide is decided by id, so that pages never overlap. */
  readonly sort: readonly SortKey[];
}

export interface PageLookUp {
  readonly scope: RrsetScope;
  readonly selection: RrsetSelection;
  readonly limit: number;
  /** Counts from 0. */
  readonly offset: number;
}

interface Statement {
  /** Of one that is worth being planned once. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

/** The order of bytes, whatever the language of the database. */
const columns = {
  id: `(name || '/' || type) COLLATE "C"`,
  name: 'name COLLATE "C"',
  created: 'first_seen_at',
} as const;

/** SQL: of the scope that the first three parameters are. */
export const inScope = `zone_id = $1 AND owner_label = $2 AND (name = $3 OR right(name, length($3) + 1) = '.' || $3)`;

/**
 * One page as a statement that answers one row: how many sets there are on all pages, and the bodies of this one as one
 * text, ready to be sent. Only the bodies of the page leave the database.
 */
export function pageStatement({ scope, selection, limit, offset }: PageLookUp): Statement {
  const { name, types, labels, sort } = selection;
  const values: unknown[] = [scope.zoneId, scope.ownerLabel, scope.root, limit, offset];
  const conditions = [inScope];
  const where = (condition: (parameter: string) => string, value: unknown): void => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  if (name !== null) where((parameter) => `name = ${parameter}`, findable(name));
  if (types.length > 0) where((parameter) => `type = ANY(${parameter}::text[])`, types.map(findable));
  if (labels !== null) where(fitsLabels, JSON.stringify(labels));
  const order = orderOf(sort);
  const text = `
    WITH mine AS MATERIALIZED (
      SELECT name, type, first_seen_at FROM dns_rrset WHERE ${conditions.join(' AND ')}
    ), page AS (
      SELECT name, type, row_number() OVER (ORDER BY ${order}) AS place
      FROM mine ORDER BY place LIMIT $4 OFFSET $5
    )
    SELECT (SELECT count(*)::int FROM mine) AS total,
           (SELECT coalesce(string_agg(rrset.body, ',' ORDER BY page.place), '')
            FROM page JOIN dns_rrset AS rrset
              ON rrset.zone_id = $1 AND rrset.name = page.name AND rrset.type = page.type) AS bodies`;
  // The page that nearly everybody asks for is planned once.
  return conditions.length === 1 && sort.length === 0 ? { name: 'rrset-page', text, values } : { text, values };
}

const fitsLabels = (parameter: string): string => `NOT EXISTS (
    SELECT FROM jsonb_to_recordset(${parameter}::jsonb) AS required (key text, "values" text[], negated boolean),
      LATERAL (SELECT body::json -> 'labels' AS labels) AS own
    WHERE negated = CASE WHEN required."values" IS NULL THEN (labels -> key) IS NOT NULL
                         ELSE coalesce(labels ->> key = ANY(required."values"), false) END)`;

/** Behind the id nothing decides any more. */
function orderOf(sort: readonly SortKey[]): string {
  const keys = new Map<SortKey['by'], boolean>();
  for (const { by, descending } of [...sort, { by: 'id', descending: false } as const]) {
    if (!keys.has(by) && !keys.has('id')) keys.set(by, descending);
  }
  return [...keys].map(([by, descending]) => `${columns[by]} ${descending ? 'DESC' : 'ASC'}`).join(', ');
}

/** No set has an empty name or type, and Postgres takes no NUL. */
const findable = (text: string): string => (text.includes('\0') ? '' : text);
