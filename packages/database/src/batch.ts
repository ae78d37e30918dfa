import pg from 'pg';
import { type Callback, type Inside, isPlain, plainQuery, type Wire } from './plain-query.js';

/** What Postgres says of a statement in a transaction that has failed. */
const IN_FAILED_TRANSACTION = '25P02';

/** A statement of a batch, and the promise of its result. */
export interface Part {
  readonly query: pg.Query;
  readonly result: Promise<pg.QueryResult>;
}

/** @param types the parsers of the client that will send it */
export function partOf(config: pg.QueryConfig, types: unknown): Part {
  const query = isPlain(config) ? plainQuery(config, config.values) : new pg.Query(config);
  const inside = query as unknown as Inside;
  // Without values, `pg` would send it as a simple query, which Postgres answers by itself.
  inside.queryMode = 'extended';
  inside._result._types = types;
  const result = new Promise<pg.QueryResult>((resolve, reject) => {
    inside.callback = (error, value) => (error ? reject(error) : resolve(value as pg.QueryResult));
  });
  return { query, result };
}

/**
 * Statements of a transaction that are sent together, and answered together: otherwise Postgres writes to the socket after each, and
 * wakes up this process. Each takes a snapshot of its own, as usual. If one fails, those after it are not executed.
 */
export class Batch extends pg.Query {
  /** For those who listen to what is sent. */
  readonly statements: readonly string[];
  // Those of the part that is being answered, by which `pg` knows what is prepared.
  declare name: string | undefined;
  declare text: string;
  declare callback: Callback;
  readonly #parts: readonly Inside[];
  #at = 0;
  #isEnded = false;

  constructor(parts: readonly pg.Query[]) {
    super('' as never, (() => undefined) as never);
    this.#parts = parts as unknown as readonly Inside[];
    this.statements = this.#parts.map(({ text }) => text);
    this.#turnTo(0);
  }

  override submit = (connection: pg.Connection): Error | null => {
    const wire = connection as Wire;
    // Each part ends with a message that asks for an answer. The last one is enough.
    const unasking = Object.create(wire, { sync: { value: () => undefined } }) as Wire;
    wire.stream.cork();
    try {
      for (const part of this.#parts) write(part, unasking);
      wire.sync();
      return null;
    } catch (error) {
      // What was written must not be executed without the rest.
      wire.stream.destroy();
      return error as Error;
    } finally {
      wire.stream.uncork();
    }
  };

  handleRowDescription(message: unknown): void {
    this.#parts[this.#at]?.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.#parts[this.#at]?.handleDataRow(message);
  }

  handleCommandComplete(message: unknown, wire: Wire): void {
    this.#parts[this.#at]?.handleCommandComplete(message, wire);
    this.#turnTo(this.#at + 1);
  }

  handleEmptyQuery(): void {
    this.#turnTo(this.#at + 1);
  }

  handleReadyForQuery(wire: Wire): void {
    this.#end(this.#parts.length, wire);
    this.callback(null);
  }

  handleError(error: Error, wire: Wire): void {
    // After the last result, the transaction may have failed to commit.
    this.#end(Math.min(this.#at, this.#parts.length - 1), wire, error);
    this.callback(error);
  }

  #turnTo(at: number): void {
    this.#at = at;
    this.name = this.#parts[at]?.name;
    this.text = this.#parts[at]?.text ?? '';
  }

  /** @param answered how many parts have a result; the next one has the error */
  #end(answered: number, wire: Wire, error?: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const part of this.#parts.slice(0, answered)) part.handleReadyForQuery(wire);
    for (const [index, part] of this.#parts.slice(answered).entries()) {
      // Postgres may not have prepared it.
      if (part.name !== undefined) delete wire.submittedNamedStatements[part.name];
      part.handleError(index === 0 ? (error as Error) : skippedAfter(error as Error), wire);
    }
  }
}

/** @throws what `pg` cannot send */
function write(part: Inside, wire: Wire): void {
  const { callback } = part;
  let refused: Error | null | undefined;
  part.callback = (error) => {
    refused = error;
  };
  const invalid = part.submit(wire) as unknown as Error | null;
  part.callback = callback;
  if (refused ?? invalid) throw refused ?? invalid;
}

function skippedAfter(error: Error): Error {
  // A connection that broke fails all.
  if (!(error instanceof pg.DatabaseError)) return error;
  const message = 'The statement was not executed, because an earlier one of its transaction failed';
  return Object.assign(new Error(message, { cause: error }), { code: IN_FAILED_TRANSACTION });
}
