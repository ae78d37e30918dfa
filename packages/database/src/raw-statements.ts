import type { Queryable } from './pool.js';
import { type Sql, sql } from './prisma.js';

/**
 * Prisma's functions for statements, without its models. `rawStatements` provides them on a connection of `pg`, where a
 * statement takes a fifth of the time and statements that do not wait for each other are sent together.
 */
export interface RawStatements {
  $queryRaw<Rows = unknown>(text: TemplateStringsArray | Sql, ...values: unknown[]): Promise<Rows>;
  /** @returns the number of rows */
  $executeRaw(text: TemplateStringsArray | Sql, ...values: unknown[]): Promise<number>;
  $queryRawUnsafe<Rows = unknown>(text: string, ...values: unknown[]): Promise<Rows>;
}

const isTemplate = (text: TemplateStringsArray | Sql): text is TemplateStringsArray => Array.isArray(text);

/** @param db a pool, or the connection of a transaction */
export function rawStatements(db: Queryable): RawStatements {
  const run = (text: TemplateStringsArray | Sql, given: readonly unknown[]) => {
    const statement = isTemplate(text) ? sql(text, ...given) : text;
    return db.query({ text: statement.text, values: [...statement.values] });
  };
  return {
    $queryRaw: async <Rows>(text: TemplateStringsArray | Sql, ...values: unknown[]) =>
      (await run(text, values)).rows as Rows,
    $executeRaw: async (text, ...values) => (await run(text, values)).rowCount ?? 0,
    $queryRawUnsafe: async <Rows>(text: string, ...values: unknown[]) =>
      (await db.query({ text, values })).rows as Rows,
  };
}
