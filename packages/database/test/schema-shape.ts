import type pg from 'pg';

interface Column {
  readonly type: string;
  readonly isRequired: boolean;
  /** Identity and generated columns have one, too. */
  readonly hasDefault: boolean;
}

/** A constraint or a unique index: what a row must fulfil. */
interface Rule {
  readonly table: string;
  readonly definition: string;
  readonly columns: readonly string[];
}

/** What services rely on in a schema, by name: `table`, `table.column`, `table.rule`. */
export interface SchemaShape {
  readonly tables: ReadonlySet<string>;
  readonly columns: ReadonlyMap<string, Column>;
  readonly rules: ReadonlyMap<string, Rule>;
}

const columnsStatement = `
  SELECT c.relname AS "table", a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS "isRequired",
    a.atthasdef OR a.attidentity <> '' AS "hasDefault"
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped`;

const rulesStatement = `
  SELECT c.relname AS "table", o.conname AS name, pg_get_constraintdef(o.oid) AS definition, array(
    SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = o.conrelid AND a.attnum = ANY (o.conkey)) AS columns
  FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
  WHERE c.relnamespace = 'public'::regnamespace AND o.contype IN ('c', 'f', 'p', 'u', 'x')
  UNION ALL
  SELECT c.relname, x.relname, pg_get_indexdef(i.indexrelid), array(
    SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[]))
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class c ON c.oid = i.indrelid
  WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique
    AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.conindid = i.indexrelid)`;

export async function readSchemaShape(client: pg.Client): Promise<SchemaShape> {
  const columns = await client.query<Column & { table: string; name: string }>(columnsStatement);
  const rules = await client.query<Rule & { name: string }>(rulesStatement);
  return {
    tables: new Set(columns.rows.map(({ table }) => table)),
    columns: new Map(columns.rows.map(({ table, name, ...column }) => [`${table}.${name}`, column])),
    rules: new Map(rules.rows.map(({ name, ...rule }) => [`${rule.table}.${name}`, rule])),
  };
}

/** What services that were made for `before` may fail at with `after`, one text each. */
export function breakingChanges(before: SchemaShape, after: SchemaShape): string[] {
  const changes: string[] = [];
  for (const table of before.tables) if (!after.tables.has(table)) changes.push(`${table} is gone`);
  for (const [name, { type, isRequired }] of before.columns) {
    const now = after.columns.get(name);
    if (!after.tables.has(tableOf(name))) continue;
    if (now === undefined) changes.push(`${name} is gone`);
    else if (now.type !== type) changes.push(`${name} was ${type} and is ${now.type}`);
    else if (now.isRequired && !isRequired) changes.push(`${name} may not be null any more`);
  }
  for (const [name, { isRequired, hasDefault }] of after.columns) {
    const isNew = before.tables.has(tableOf(name)) && !before.columns.has(name);
    if (isNew && isRequired && !hasDefault) changes.push(`${name} is required and has no default`);
  }
  for (const [name, { table, definition, columns }] of after.rules) {
    // Old services leave new columns at their defaults, which a migration has to make valid.
    const concernsOldRows = columns.some((column) => before.columns.has(`${table}.${column}`));
    if (before.tables.has(table) && concernsOldRows && before.rules.get(name)?.definition !== definition) {
      changes.push(`${name} requires ${definition}`);
    }
  }
  return changes;
}

const tableOf = (name: string): string => name.slice(0, name.indexOf('.'));
