import { isAtOrBelow } from '@corral/contracts';
import type { Queryable, Transaction } from '@corral/database';
import { readRrsetBody } from '../rrset.js';

/** The sets visible to a caller: those of a team or demo, or at and below one of its names. */
export interface RrsetScope {
  readonly zoneId: number;
  readonly ownerLabel: string;
  /** The name that its token is narrowed to; null for all names of the owner. */
  readonly withinName: string | null;
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
  readonly selection: RrsetSelection;
  readonly limit: number;
  /** Zero-based. */
  readonly offset: number;
}

export interface RrsetPage {
  /** How many sets there are on all pages. */
  readonly total: number;
  /** JSON texts joined by commas. */
  readonly bodies: string;
}

interface Statement {
  /** Present for a statement worth preparing. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Adds a value to a statement. @returns its place in SQL */
type Place = (value: unknown) => string;

/** Columns in the order of bytes, which is independent of the database's collation. */
const columns = {
  id: `(name || '/' || type) COLLATE "C"`,
  name: 'name COLLATE "C"',
  created: 'first_seen_at',
} as const;

/**
 * The labels of a body. Characters that Postgres cannot read are replaced by one that no selector contains: the upstream decides what
 * a body contains.
 */
const labels = `(regexp_replace(body, '\\\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\\\n', 'g')::json -> 'labels')`;

/**
 * The statement for one page. It returns one row, a `RrsetPage`: only the bodies of the page leave the database, so a list takes no
 * more memory than its page, however many sets the owner has.
 */
function pageStatement({ scope, selection, limit, offset }: PageLookUp): Statement {
  const values: unknown[] = [];
  const place: Place = (value) => `$${values.push(value)}`;
  const selected = [...inScope(scope, place), ...matching(selection, place)].join(' AND ');
  // Written out: with values in their place, Postgres plans each page anew, which takes as long as to read it.
  const part = `LIMIT ${Math.trunc(limit)} OFFSET ${Math.trunc(offset)}`;
  const text = `
    SELECT (SELECT count(*)::int FROM dns_rrset WHERE ${selected}) AS total,
           (SELECT coalesce(string_agg(body, ','), '') FROM (
              SELECT body FROM dns_rrset WHERE ${selected}
              ORDER BY ${orderOf(selection.sort)} ${part}
            ) AS page) AS bodies`;
  const isPlain = values.length === 2 && selection.sort.length === 0 && offset === 0;
  return { ...(isPlain && { name: `first ${limit} rrsets` }), text, values };
}

/** The statement for the number of records in a scope, `records`. */
function recordsStatement(scope: RrsetScope): Statement {
  const values: unknown[] = [];
  const held = inScope(scope, (value) => `$${values.push(value)}`).join(' AND ');
  return { text: `SELECT coalesce(sum(record_count), 0)::int AS records FROM dns_rrset WHERE ${held}`, values };
}

function inScope({ zoneId, ownerLabel, withinName }: RrsetScope, place: Place): string[] {
  const owned = [`zone_id = ${place(zoneId)}`, `owner_label = ${place(ownerLabel)}`];
  if (withinName === null) return owned;
  const at = place(withinName);
  return [...owned, `(name = ${at} OR right(name, length(${at}) + 1) = '.' || ${at})`];
}

function matching({ name, types, labels: required }: RrsetSelection, place: Place): string[] {
  return [
    ...(name === null ? [] : [`name = ${place(findable(name))}`]),
    ...(types.length === 0 ? [] : [`type = ANY(${place(types.map(findable))})`]),
    ...(required ?? []).map((requirement) => fitting(requirement, place)),
  ];
}

function fitting({ key, values, negated }: LabelRequirement, place: Place): string {
  const value = `${labels} ->> ${place(findable(key))}::text`;
  const fits = values === null ? `(${value}) IS NOT NULL` : `(${value}) = ANY(${place(values.map(findable))})`;
  return `(${fits}) IS ${negated ? 'NOT ' : ''}TRUE`;
}

const orderOf = (sort: readonly SortKey[]): string =>
  [...sort, { by: 'id', descending: false } as const]
    .map(({ by, descending }) => `${columns[by]} ${descending ? 'DESC' : 'ASC'}`)
    .join(', ');

/** No set has an empty name or type, and Postgres rejects NUL in text. */
const findable = (text: string): string => (text.includes('\0') ? '' : text);

export interface ZoneRecord {
  readonly id: number;
  readonly name: string;
  /** The upstream's JSON text. */
  readonly body: string;
}

const findRrsetBody = {
  name: 'rrset-by-key',
  text: 'SELECT body FROM dns_rrset WHERE zone_id = $1 AND owner_label = $2 AND name = $3 AND type = $4',
};

/** Reads of the mirror. Each takes the owner and costs at most one statement and no upstream call. */
export const mirrorStore = (db: Queryable) => ({
  async findZone(name: string): Promise<ZoneRecord | null> {
    const { rows } = await db.query<ZoneRecord>('SELECT id, name, body FROM dns_zone WHERE name = $1', [name]);
    return rows[0] ?? null;
  },

  /** The body of one set, null when the scope has none with that name and type. */
  async findRrset({ zoneId, ownerLabel, withinName }: RrsetScope, name: string, type: string): Promise<string | null> {
    if (withinName !== null && !isAtOrBelow(name, withinName)) return null;
    const { rows } = await db.query<{ body: string }>({ ...findRrsetBody, values: [zoneId, ownerLabel, name, type] });
    return rows[0]?.body ?? null;
  },

  async countRecords(scope: RrsetScope): Promise<number> {
    const { rows } = await db.query<{ records: number }>(recordsStatement(scope));
    return rows[0]?.records ?? 0;
  },

  /** One page of the selected sets. */
  async pageRrsets(lookUp: PageLookUp): Promise<RrsetPage> {
    const { rows } = await db.query<RrsetPage>(pageStatement(lookUp));
    return rows[0] as RrsetPage;
  },
});
export type MirrorStore = ReturnType<typeof mirrorStore>;

/** A record set that leads to addresses, or to a name. */
interface PointingRrset {
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly values: readonly string[];
}

/** The record sets of a team of the types A, AAAA and CNAME, by name and type. */
export async function listPointingSets(db: Transaction, slug: string): Promise<PointingRrset[]> {
  const rows = await db.dnsRrset.findMany({
    where: { ownerLabel: slug, zone: { ofDemos: false }, type: { in: ['A', 'AAAA', 'CNAME'] } },
    orderBy: [{ name: 'asc' }, { type: 'asc' }, { zoneId: 'asc' }],
    select: { name: true, type: true, body: true, zone: { select: { name: true } } },
  });
  return rows.map(({ zone, body, ...set }) => ({
    ...set,
    zone: zone.name,
    values: readRrsetBody(body).records.map(({ value }) => value),
  }));
}
