import express from 'express';

/** The baseline of the reads: Express as it comes, answering fixed bytes. */
const bodies = JSON.parse(process.env.BODIES ?? '{}') as Record<string, string>;
const app = express();
app.disable('x-powered-by');
for (const [path, body] of Object.entries(bodies)) {
  app.get(path, (_req, res) => {
    res.setHeader('Content-Type', 'application/json; charset=utf-8');
    res.setHeader('Content-Length', Buffer.byteLength(body));
    res.end(body);
  });
}
app.listen(Number(process.env.PORT), '127.0.0.1');
