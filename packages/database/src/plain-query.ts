import pg from 'pg';

export type Callback = (error: Error | null | undefined, result?: unknown) => void;

/** How the values of a statement are read. */
interface Columns {
  readonly fields: readonly unknown[];
  readonly _parsers: unknown;
  readonly _prebuiltEmptyResultObject: unknown;
}

/** What `pg` does with a query, which its types hide. Its version is pinned, and the tests of this package notice a change. */
export interface Inside extends pg.Query {
  callback: Callback;
  name: string | undefined;
  queryMode: string | undefined;
  readonly text: string;
  readonly values: unknown[] | undefined;
  readonly _result: Columns & { _types: unknown };
  _accumulateRows: boolean;
  prepare(wire: Wire): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, wire: Wire): void;
  handleEmptyQuery(wire: Wire): void;
  handleReadyForQuery(wire: Wire): void;
  handleError(error: Error, wire: Wire): void;
}

/** The part of `pg`'s connection that is needed. */
export interface Wire extends pg.Connection {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
  /** Ours: those of its prepared statements, by their names. */
  columns?: Map<string, Columns>;
  bind(config: object): void;
  execute(config: object): void;
  sync(): void;
}

const { prototype: inside } = pg.Query as unknown as { readonly prototype: Inside };
const { prepareValue } = (pg as unknown as { readonly utils: { prepareValue(value: unknown): unknown } }).utils;

const PLAIN: ReadonlySet<string> = new Set(['text', 'values', 'name']);

/** Whether it has nothing that only `pg` knows what to do with. */
export function isPlain(config: pg.QueryConfig): boolean {
  for (const key in config) if (!PLAIN.has(key)) return false;
  return true;
}

/**
 * As `new pg.Query` with a plain configuration, which it would copy with the descriptors of its properties. That takes longer than all else
 * that it does before it sends it.
 */
export function plainQuery({ text, name }: pg.QueryConfig, values: unknown[] | undefined): pg.Query {
  const query = new PlainQuery(text as never, values);
  query.name = name;
  return query;
}

/**
 * A query that does not ask again for columns that it knows: Postgres would send them, and `pg` would read them, with each answer. They
 * cannot change, as Postgres refuses to execute a prepared statement whose columns have ("cached plan must not change result type").
 */
class PlainQuery extends pg.Query {
  declare name: string | undefined;
  #asksForColumns = false;

  /** Called by `submit`. */
  prepare(wire: Wire): void {
    const { name } = this;
    const self = this as unknown as Inside;
    const columns = name !== undefined && name in wire.parsedStatements ? wire.columns?.get(name) : undefined;
    if (columns === undefined || !this.#binds(wire)) {
      this.#asksForColumns = true;
      inside.prepare.call(self, wire);
      return;
    }
    Object.assign(self._result, columns);
    self._accumulateRows = true;
    wire.execute({});
    wire.sync();
  }

  /** @returns false when a value cannot be sent. Nothing was written then, and `pg` fails again in its own way */
  #binds(wire: Wire): boolean {
    const { values } = this as unknown as Inside;
    try {
      wire.bind({ statement: this.name, values, valueMapper: prepareValue });
      return true;
    } catch {
      return false;
    }
  }

  handleCommandComplete(message: unknown, wire: Wire): void {
    const self = this as unknown as Inside;
    inside.handleCommandComplete.call(self, message, wire);
    if (!this.#asksForColumns || this.name === undefined) return;
    const { fields, _parsers, _prebuiltEmptyResultObject } = self._result;
    wire.columns ??= new Map();
    wire.columns.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
  }
}
