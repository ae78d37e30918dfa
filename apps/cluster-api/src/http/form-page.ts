import { randomBytes } from 'node:crypto';
import type { Response } from 'express';

/** A page with forms. Without scripts, and without anything from elsewhere. */
export interface FormPage {
  readonly title: string;
  /** HTML. Texts of others are escaped. */
  readonly content: string;
  /** Its forms may lead there besides this service: a source of a Content-Security-Policy. */
  readonly leadsTo?: string;
}

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}
button{font:inherit;padding:.4rem 1rem;border:1px solid #1c5d99;border-radius:.3rem;background:#1c5d99;color:#fff}
.plain{background:none;color:inherit;border-color:#888}
input[type=email]{font:inherit;padding:.3rem;width:100%;box-sizing:border-box}
:root{color-scheme:light dark}`;

const NONCE_BYTES = 16;

/** Answers with the page. It cannot be framed, so nobody clicks on it unawares. */
export function sendFormPage(res: Response, { title, content, leadsTo }: FormPage): void {
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `form-action 'self'${leadsTo === undefined ? '' : ` ${leadsTo}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  res.setHeader('Content-Security-Policy', policy);
  // Browsers send forms with `Origin: null` under the `no-referrer` of all other answers, and that looks like another site.
  res.setHeader('Referrer-Policy', 'same-origin');
  res.type('html').send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} · Corral</title><style nonce="${nonce}">${style}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`);
}
