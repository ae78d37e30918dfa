import type { Transaction } from '@corral/database';

type ActionSortField = 'id' | 'command' | 'status' | 'started' | 'finished';

export interface ActionSortKey {
  readonly by: ActionSortField;
  readonly descending: boolean;
}

/** Selects and orders one page of an owner's actions. */
export interface ActionPageLookUp {
  readonly ownerId: string;
  /** The name that the token is narrowed to; null for all names of the owner. */
  readonly withinName: string | null;
  /** Record types; empty for any. */
  readonly types: readonly string[];
  /** Empty: any. */
  readonly statuses: readonly string[];
  /** Ties are broken by id. */
  readonly sort: readonly ActionSortKey[];
  readonly limit: number;
  /** Zero-based. */
  readonly offset: number;
  /** How long after its start an action that has succeeded upstream may wait for name servers; 0 if none does. */
  readonly propagationMsMax: number;
}

export interface ActionPage {
  /** Actions on all pages. */
  readonly total: number;
  /** The actions of this page: JSON texts joined by commas. */
  readonly bodies: string;
}

/** Actions are kept as long as the audit log. Only the newest are listed, so that a page costs the same however many there are. */
const LISTED_ACTIONS_MAX = 1_000;
/** The newest actions of the owner among which those that a narrowed token covers are looked for. */
const SEARCHED_ACTIONS_MAX = 10_000;

const columns: Readonly<Record<ActionSortField, string>> = {
  id: 'id',
  command: `body::json ->> 'command'`,
  status: 'status',
  started: 'started_at',
  finished: `body::json ->> 'finished'`,
};

/** Reads one page of the owner's newest actions. */
export async function pageActions(db: Transaction, lookUp: ActionPageLookUp): Promise<ActionPage> {
  const { ownerId, withinName, types, statuses, sort, limit, offset, propagationMsMax } = lookUp;
  const order = orderOf(sort);
  const isNarrowed = withinName !== null || types.length > 0;
  // A page after the last one is empty, however large its number is.
  const values: unknown[] = [ownerId, limit, Math.min(offset, LISTED_ACTIONS_MAX)];
  const max = isNarrowed ? SEARCHED_ACTIONS_MAX : LISTED_ACTIONS_MAX;
  const newest =
    propagationMsMax === 0
      ? newestActions(values, statuses, max)
      : newestPropagating(values, statuses, { max, propagationMsMax });
  const rows = await db.$queryRawUnsafe<ActionPage[]>(
    `WITH newest AS (${newest}), mine AS MATERIALIZED (
       SELECT id, status, started_at, body FROM newest
       ${isNarrowed ? narrowedTo(values, withinName, types) : ''} ORDER BY id DESC LIMIT ${LISTED_ACTIONS_MAX}
     ), page AS (
       SELECT body, row_number() OVER (ORDER BY ${order}) AS place FROM mine ORDER BY place LIMIT $2::int OFFSET $3::int
     )
     SELECT (SELECT count(*)::int FROM mine) AS total,
            (SELECT coalesce(string_agg(body, ',' ORDER BY place), '') FROM page) AS bodies`,
    ...values,
  );
  return rows[0] as ActionPage;
}

/** Selects them from the index on the owner, or from the one that has the state as well, because a state may be rare. */
function newestActions(values: unknown[], statuses: readonly string[], max: number): string {
  const of = (condition: string, order: string): string => `
       SELECT id, status, started_at, body, audit_entry_id, propagated_at FROM dns_action
       WHERE coalesce(demo_id, team_id) = $1::uuid${condition} ORDER BY ${order}id DESC LIMIT ${max}`;
  if (statuses.length === 0) return of('', '');
  // A range, not `=`: only the index that has the state is in this order, so it is used however rare Postgres thinks the state is.
  const isWanted = ' AND dns_action.status >= wanted.status AND dns_action.status <= wanted.status';
  const wanted = `unnest($${values.push(statuses)}::text[]) AS wanted (status)`;
  const found = 'found.id, found.status, found.started_at, found.body, found.audit_entry_id, found.propagated_at';
  return `
       SELECT ${found} FROM ${wanted}, LATERAL (${of(isWanted, 'status, ')}) AS found
       ORDER BY found.id DESC LIMIT ${max}`;
}

/** The same, where an action that waits for name servers runs, although it has succeeded upstream. */
function newestPropagating(
  values: unknown[],
  statuses: readonly string[],
  { max, propagationMsMax }: { readonly max: number; readonly propagationMsMax: number },
): string {
  const upstream = statuses.includes('running') ? [...new Set([...statuses, 'success'])] : statuses;
  const since = `clock_timestamp() - $${values.push(propagationMsMax)}::float8 * interval '1 ms'`;
  const waits = `status = 'success' AND propagated_at IS NULL AND started_at > ${since}`;
  const running = `'{"status": "running", "progress": 50, "finished": null}'`;
  const isWanted = statuses.length === 0 ? '' : `WHERE status = ANY($${values.push(statuses)}::text[])`;
  return `
       SELECT * FROM (
         SELECT id, started_at, audit_entry_id, CASE WHEN ${waits} THEN 'running' ELSE status END AS status,
                CASE WHEN ${waits} THEN (body::jsonb || ${running})::text ELSE body END AS body
         FROM (${newestActions(values, upstream, max)}) AS newest) AS shown ${isWanted}`;
}

/** SQL condition on the record set of the write that started the action. */
function narrowedTo(values: unknown[], withinName: string | null, types: readonly string[]): string {
  const [name, type] = [values.push(withinName), values.push(types)].map((position) => `$${position}`);
  return `WHERE EXISTS (
         SELECT FROM dns_audit_entry AS entry WHERE entry.id = newest.audit_entry_id
           AND (${name}::text IS NULL OR entry.name = ${name} OR right(entry.name, length(${name}) + 1) = '.' || ${name})
           AND (cardinality(${type}::text[]) = 0 OR entry.type = ANY(${type})))`;
}

function orderOf(sort: readonly ActionSortKey[]): string {
  return [...sort, { by: 'id', descending: false } as const]
    .map(({ by, descending }) => `${columns[by]} ${descending ? 'DESC' : 'ASC'} NULLS LAST`)
    .join(', ');
}
