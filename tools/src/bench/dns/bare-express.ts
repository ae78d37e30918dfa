import express from 'express';

/** The baseline of the reads: plain Express, which sends fixed bytes with `res.send`. */
const bodies = JSON.parse(process.env.BODIES ?? '{}') as Record<string, string>;
const app = express();
for (const [path, body] of Object.entries(bodies)) {
  app.get(path, (_req, res) => {
    res.type('json').send(body);
  });
}
app.listen(Number(process.env.PORT), '127.0.0.1');
