import { type Sql, sql, sqlText } from '@corral/database';
import type { AuditQuery } from './log.js';

/*
 * Statements for a page of one of the logs. A team may have ten million entries, so each reads one index from its newest entry on
 * and stops after a page, however rare the entries are that fit. A condition without an index for it would read on to the oldest.
 */

export type LogTable = 'audit_entry' | 'dns_audit_entry';

/** @param conditions at least one */
const all = (conditions: readonly Sql[]): Sql => conditions.reduce((left, right) => sql`${left} AND ${right}`);

/** The limit, as a number in the text: with a parameter Postgres would expect a tenth of all entries, and plan the statement anew each time. */
const atMost = ({ limit }: AuditQuery): Sql => sqlText(`LIMIT ${Math.trunc(limit)}`);

/** Columns of `entry` that an index has between the team and the time, with the values that they must have. */
export type IndexedBy = readonly (readonly [column: string, value: Sql])[];

const listOf = (parts: readonly Sql[]): Sql => parts.reduce((left, right) => sql`${left}, ${right}`);

/**
 * Selects id and time of the newest entries.
 *
 * Only the index on team, `by`, time and id has the order that is asked for, and its columns are compared as one: with
 * `column = value` Postgres would guess how frequent the value is, and read all entries by time where it is rare.
 *
 * @param conditions on `entry`, for which entries with the values of `by` are read
 */
export function newestEntries(table: LogTable, query: AuditQuery, by: IndexedBy, conditions: readonly Sql[]): Sql {
  const columns = [...by.map(([column]) => column), 'entry.created_at', 'entry.id'];
  const position = sqlText(columns.join(', '));
  const boundOf = (time: Sql, id: bigint): Sql => listOf([...by.map(([, value]) => value), time, sql`${id}::bigint`]);
  const { from } = query.filters;
  const oldest = boundOf(from === null ? sql`'-infinity'::timestamptz` : sql`${from}::timestamptz`, 0n);
  return sql`
  SELECT entry.id, entry.created_at FROM ${sqlText(table)} AS entry
  WHERE ${all([
    sql`entry.team_id = ${query.teamId}::uuid`,
    sql`(${position}) >= (${oldest})`,
    sql`(${position}) < (${boundOf(...newestBound(query))})`,
    ...conditions,
  ])}
  ORDER BY ${sqlText(columns.map((column) => `${column} DESC`).join(', '))} ${atMost(query)}`;
}

/** Ids are positive, so nothing of the time itself is before it with 0. */
function newestBound({ after, filters: { to } }: AuditQuery): [time: Sql, id: bigint] {
  if (after !== null && (to === null || after.createdAt < to))
    return [sql`${after.createdAt}::timestamptz`, after.number];
  return [to === null ? sql`'infinity'::timestamptz` : sql`${to}::timestamptz`, 0n];
}

/**
 * The same, where values of `by` are columns of `groups`, which is named `of`: the newest entries of each group, and of these the
 * newest. Costs an index look-up for each group.
 */
export const newestOfGroups = (
  table: LogTable,
  query: AuditQuery,
  groups: Sql,
  by: IndexedBy,
  conditions: readonly Sql[],
): Sql => sql`
  SELECT newest.id, newest.created_at
  FROM (${groups}) AS of, LATERAL (${newestEntries(table, query, by, conditions)}) AS newest
  ORDER BY newest.created_at DESC, newest.id DESC ${atMost(query)}`;

/**
 * Selects the combinations of values that the columns have in the entries of a team: one look-up for each in the index that begins
 * with the team and these columns.
 *
 * @param wanted of the combinations, named `known`
 */
export function combinationsOf(
  table: LogTable,
  { teamId }: AuditQuery,
  columns: readonly string[],
  wanted: readonly Sql[],
): Sql {
  const [names, known, next] = ['', 'known.', 'next.'].map((of) =>
    sqlText(columns.map((column) => `${of}${column}`).join(', ')),
  ) as [Sql, Sql, Sql];
  const from = sqlText(`FROM ${table}`);
  return sql`
    WITH RECURSIVE known AS (
      (SELECT ${names} ${from} WHERE team_id = ${teamId}::uuid ORDER BY ${names} LIMIT 1)
      UNION ALL
      SELECT ${next} FROM known, LATERAL (
        SELECT ${names} ${from} WHERE team_id = ${teamId}::uuid AND (${names}) > (${known}) ORDER BY ${names} LIMIT 1) AS next
    )
    SELECT ${known} FROM known WHERE ${all([sql`true`, ...wanted])}`;
}
