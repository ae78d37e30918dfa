import express from 'express';
import pg from 'pg';

/*
 * What a read costs at least: plain Express, and one prepared statement on a warm connection. The answers are those of the gateway,
 * by path.
 */

const bodies = JSON.parse(process.env.BODIES ?? '{}') as Record<string, string>;
const client = new pg.Client({ connectionString: process.env.DATABASE_URL ?? '' });
await client.connect();

/** What a read of the path has to ask for: one set by its key, or a page of an owner. */
const statementOf = (path: string): pg.QueryConfig => {
  const [, name, type] = /\/rrsets\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
  return name === undefined
    ? {
        name: 'list',
        text: `SELECT string_agg(body, ',') AS body FROM (
                 SELECT body FROM dns_rrset WHERE owner_label = $1 ORDER BY name, type LIMIT 25) AS page`,
        values: [process.env.OWNER ?? ''],
      }
    : { name: 'get', text: 'SELECT body FROM dns_rrset WHERE name = $1 AND type = $2', values: [name, type] };
};

const app = express();
for (const [path, body] of Object.entries(bodies)) {
  const statement = statementOf(path);
  app.get(path, async (_req, res) => {
    const { rows } = await client.query(statement);
    if (!rows[0]?.body) throw new Error('There is no such record set');
    res.type('json').send(body);
  });
}
app.listen(Number(process.env.PORT), '127.0.0.1');
