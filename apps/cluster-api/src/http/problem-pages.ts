import { type ProblemCode, problemCodes } from '@corral/contracts';
import { page, staticPage } from '@corral/http-api';
import { type RequestHandler, Router } from 'express';
import { escaped } from '../html.js';
import { notFound } from '../problem.js';

/** Pages for people: `/problems/{code}`, the target of each problem's `type`, and the list `/problems/`. */
export function problemPages(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/problems',
    page((_req, res) => res.redirect(308, '/problems/')),
  );
  router.all('/problems/', html(listPage));
  const pages = new Map(
    Object.keys(problemCodes).map((code): [string, RequestHandler] => [
      code,
      html(() => codePage(code as ProblemCode)),
    ]),
  );
  router.all('/problems/:code', (req, res, next) => {
    const ofCode = pages.get(req.params.code);
    if (ofCode === undefined) throw notFound();
    return ofCode(req, res, next);
  });
  return router;
}

const html = (content: () => string): RequestHandler =>
  staticPage(() => ({ type: 'text/html; charset=utf-8', content: content() }));

function codePage(code: ProblemCode): string {
  const { status, title, meaning } = problemCodes[code];
  return document(
    code,
    `<h1>${escaped(title)}</h1>
<p><code>${code}</code>, HTTP status ${status}</p>
<p>${withCode(meaning)}</p>
<p><a href="./">All problems</a></p>`,
  );
}

function listPage(): string {
  const rows = Object.entries(problemCodes).map(
    ([code, { status, title }]) =>
      `<dt><a href="${code}"><code>${code}</code></a> (${status})</dt><dd>${escaped(title)}</dd>`,
  );
  return document(
    'Problems',
    `<h1>Problems</h1>
<p>Every error is an <code>application/problem+json</code> document (RFC 9457). Switch on its <code>code</code>.</p>
<dl>
${rows.join('\n')}
</dl>`,
  );
}

const style = 'body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}';

const document = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${style}</style>
</head>
<body>
${content}
</body>
</html>
`;

/** Renders text in backticks as code. */
const withCode = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
