import { clusterLimits, InvalidBody } from '@corral/contracts';
import { bytesOf } from '@corral/http-api';
import type { Request } from 'express';
import { Problem } from '../problem.js';

const formType = /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** Whether the body of a request is a form. */
export const isForm = (req: Request): boolean => formType.test(req.headers['content-type'] ?? '');

/**
 * Returns the body of a request that is a form. A schema has not checked it yet.
 *
 * @throws Problem `unsupported_media_type`, or `invalid_json` for a form that two parsers could read differently
 */
export function formOf(req: Request): Readonly<Record<string, string>> {
  if (!isForm(req)) {
    const detail = 'Send the body as a form, with Content-Type: application/x-www-form-urlencoded.';
    throw new Problem('unsupported_media_type', detail);
  }
  const pairs = [...new URLSearchParams(bytesOf(req).toString('latin1'))];
  if (pairs.length > clusterLimits.formParameters) {
    throw new Problem('invalid_json', `The form has more than ${clusterLimits.formParameters} parameters. Send fewer.`);
  }
  const form = new Map(pairs);
  if (form.size < pairs.length) throw new Problem('invalid_json', 'The form repeats a parameter. Send each once.');
  if (pairs.some((pair) => pair.some((text) => !isCleanText(text)))) {
    throw new Problem('invalid_json', 'The form contains a character that is not allowed, or is not UTF-8.');
  }
  return Object.fromEntries(form);
}

/** Whether a text has no control characters, and no replacement for what is not UTF-8. */
const isCleanText = (text: string): boolean => !/[\p{Cc}\ufffd]/u.test(text);

/**
 * Reads a form of an OAuth client, which expects 400 for a wrong parameter, too.
 *
 * @throws Problem `invalid_token_request`, or what `formOf` throws
 */
export function oauthFormOf<T>(req: Request, parse: (form: Readonly<Record<string, string>>) => T): T {
  try {
    return parse(formOf(req));
  } catch (error) {
    if (error instanceof InvalidBody) throw new Problem('invalid_token_request', `${error.message}.`);
    throw error;
  }
}
