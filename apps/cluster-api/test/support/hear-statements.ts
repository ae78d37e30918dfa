import pg from 'pg';

/**
 * Reports the statements that this process sends to Postgres, over any connection.
 *
 * @returns a function that ends it
 */
export function hearStatements(onStatement: (text: string) => void): () => void {
  const unheard = pg.Client.prototype.query;
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `pg`, passed through
  pg.Client.prototype.query = function heard(this: pg.Client, ...given: any[]): any {
    const [statement] = given;
    // Those of a batch, or one.
    const texts: string[] = statement?.statements ?? [typeof statement === 'string' ? statement : statement?.text];
    // Written at intervals for all sessions, independent of this request.
    for (const text of texts) if (text !== undefined && !text.includes('SET last_seen_at')) onStatement(text);
    return unheard.apply(this, given as never);
  };
  return () => {
    pg.Client.prototype.query = unheard;
  };
}
