import { type RequestHandler, Router } from 'express';
import { page } from '../mount-routes.js';

const DAY_MS = 86_400_000;
/** RFC 9116 advises less than a year. A service that runs vouches for its contact anew with each answer. */
const VALID_DAYS = 180;

/**
 * `/.well-known/security.txt` (RFC 9116): whom to tell about a vulnerability.
 *
 * @param contact a `mailto:` or `https:` URL; without one the path does not exist
 */
export function securityTxt(contact: string | undefined): Router {
  const router = Router({ caseSensitive: true, strict: true });
  if (contact !== undefined) router.all('/.well-known/security.txt', showContact(contact));
  return router;
}

const showContact = (contact: string): RequestHandler =>
  page((_req, res) => {
    const expires = new Date((Math.floor(Date.now() / DAY_MS) + VALID_DAYS) * DAY_MS).toISOString();
    res.set('Cache-Control', 'public, max-age=86400').type('text/plain');
    res.send(`Contact: ${contact}\nExpires: ${expires}\nPreferred-Languages: en\n`);
  });
