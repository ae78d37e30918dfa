import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { Batch, type Part, partOf } from './batch.js';
import { isPlain, plainQuery } from './plain-query.js';

/** Uses of a text per process before it is prepared. Rare statements cost more to prepare than to plan. */
const USES_BEFORE = 4;
/** Named texts per process. Each connection keeps the plans of those it has run, 20 to 50 KiB each. */
const NAMED_MAX = 400;
/** Counted texts per process. Lists of varying length produce many. */
const COUNTED_MAX = 2_000;

/**
 * Statements whose columns change with the table. A cached plan fails permanently ("cached plan must not change result
 * type") when a migration adds a column while an older process is running. Not so lists of values: these functions have
 * the columns that the statement gives them.
 */
const ALL_COLUMNS = /\b(?:select|returning)\s+\*(?!\s+from\s+(?:unnest|jsonb_to_recordset)\s*\()|\w"?\.\*/i;

/** Assigns names to frequent statement texts, so that Postgres parses and plans each once per connection. */
export function statementNames(bounds = { usesBefore: USES_BEFORE, namedMax: NAMED_MAX, countedMax: COUNTED_MAX }) {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  return (text: string): string | undefined => {
    const name = names.get(text);
    if (name !== undefined) return name;
    if (names.size >= bounds.namedMax) return undefined;
    const count = (uses.get(text) ?? 0) + 1;
    if (count <= bounds.usesBefore) {
      if (uses.size >= bounds.countedMax) uses.clear();
      uses.set(text, count);
      return undefined;
    }
    if (ALL_COLUMNS.test(text)) return undefined;
    uses.delete(text);
    const given = createHash('sha256').update(text).digest('base64url').slice(0, 20);
    names.set(text, given);
    return given;
  };
}

const nameOf = statementNames();

type Config = pg.QueryConfig & { readonly submit?: unknown };

/**
 * A client that names unnamed statements with values, including Prisma's, and sends the statements of one turn of the event loop
 * in one write to the socket: each write is a system call, which takes as long as all else about a statement.
 */
export class PreparingClient extends pg.Client {
  #isGathering = false;
  /** The statements of this turn, while those of a turn are answered together. */
  #parts: Part[] | null = null;

  /** Until `endBatches`, the statements of each turn are answered together: for transactions, because the first that fails ends all. */
  beginBatches(): void {
    this.#parts = [];
  }

  endBatches(): void {
    this.#sendBatch();
    this.#parts = null;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `pg`, passed through
  override query(config: string | Config, values?: any, callback?: any): any {
    const statement = named(config, values);
    if (this.#parts !== null && isForBatch(statement, values, callback)) return this.#add(statement, values);
    this.#sendBatch();
    this.#gather();
    // What a pool sends.
    if (typeof callback === 'function' && typeof statement === 'object' && isPlain(statement)) {
      return super.query(plainQuery(statement, values ?? statement.values) as never, callback);
    }
    return super.query(statement as string, values, callback);
  }

  #add(statement: string | Config, values: unknown[] | undefined): Promise<pg.QueryResult> {
    const config = typeof statement === 'string' ? { text: statement } : statement;
    const { _types: types } = this as unknown as { readonly _types: unknown };
    const part = partOf(values === undefined ? config : { ...config, values }, types);
    if (this.#parts?.push(part) === 1) process.nextTick(() => this.#sendBatch());
    return part.result;
  }

  #sendBatch(): void {
    if (this.#parts === null || this.#parts.length === 0) return;
    const queries = this.#parts.splice(0).map(({ query }) => query);
    super.query(queries.length === 1 ? (queries[0] as pg.Query) : new Batch(queries));
  }

  #gather(): void {
    if (this.#isGathering) return;
    const { stream } = (this as unknown as { readonly connection: { readonly stream: Duplex } }).connection;
    this.#isGathering = true;
    stream.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      stream.uncork();
    });
  }
}

const ENDS = new Set(['BEGIN', 'COMMIT']);

/** A single statement whose result is a promise. A text without values could hold several. */
function isForBatch(statement: string | Config, values: unknown, callback: unknown): boolean {
  const { text, submit, values: own }: Config = typeof statement === 'string' ? { text: statement } : statement;
  if (submit !== undefined || typeof values === 'function' || callback !== undefined) return false;
  return ENDS.has(text) || Array.isArray(values ?? own);
}

function named(config: string | Config, values: unknown): string | Config {
  const query: Config = typeof config === 'string' ? { text: config } : config;
  const hasValues = Array.isArray(values) || query.values !== undefined;
  if (!hasValues || query.submit !== undefined || query.name !== undefined) return config;
  const name = nameOf(query.text);
  return name === undefined ? config : { ...query, name };
}
