import express from 'express';
import pg from 'pg';

/*
 * The floors of the reads: plain Express, which sends fixed bytes with `res.send`, below `/bare`; and the same after one prepared
 * statement on a warm connection, below `/v1`, where bodies are asked for by path.
 */

const bodies = JSON.parse(process.env.BODIES ?? '{}') as Record<string, string>;
const owner = process.env.OWNER ?? '';
const client = new pg.Client({ connectionString: process.env.DATABASE_URL ?? '' });
await client.connect();

/** What a read of the path has to ask for at least: one set by its key, or all of an owner. */
const statementOf = (path: string): pg.QueryConfig => {
  const [, name, type] = /\/rrsets\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
  return name === undefined
    ? {
        name: 'list',
        text: `SELECT string_agg(body, ',') AS body FROM (
                 SELECT body FROM dns_rrset WHERE owner_label = $1 ORDER BY name, type LIMIT 25) AS page`,
        values: [owner],
      }
    : { name: 'get', text: 'SELECT body FROM dns_rrset WHERE name = $1 AND type = $2', values: [name, type] };
};

const app = express();
for (const [path, body] of Object.entries(bodies)) {
  app.get(`/bare${path}`, (_req, res) => {
    res.type('json').send(body);
  });
  const statement = statementOf(path);
  app.get(`/v1${path}`, async (_req, res) => {
    const { rows } = await client.query(statement);
    if (rows.length === 0) throw new Error('There is no such record set');
    res.type('json').send(body);
  });
}
app.listen(Number(process.env.PORT), '127.0.0.1');
