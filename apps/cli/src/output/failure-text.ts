import type { CorralError } from '@corral/client';
import { placeOf } from '@corral/contracts';
import type { ExitReason } from '../exit-codes.js';

/** How a command ends that an API refused, or that got no answer. */
export function exitReasonOf({ status, code }: CorralError): ExitReason {
  if (code === 'invalid_request') return 'usage';
  if (status === 401 || code === 'invalid_grant') return 'signedOut';
  if (status === 404) return 'notFound';
  if (status === 409 || status === 412) return 'conflict';
  if (status < 400 || status === 429 || status >= 500) return 'unavailable';
  return 'refused';
}

const FIELDS_SHOWN = 5;

/** Everything that a person needs to know, in one line. */
export function failureText({ detail, errors, code, status, requestId, retryAfterMs }: CorralError): string {
  const sentences = errors.map((error) => error.detail ?? [placeOf(error.pointer), error.message].join(' ').trim());
  const news = [...new Set(sentences)].filter((sentence) => !detail.includes(sentence.replace(/\.$/, '')));
  const shown = news.slice(0, FIELDS_SHOWN).map((sentence) => ` ${sentence.replace(/\.?$/, '.')}`);
  const more = news.length > FIELDS_SHOWN ? ` And ${news.length - FIELDS_SHOWN} more.` : '';
  const wait = status === 429 && retryAfterMs !== null ? ` Try again in ${Math.ceil(retryAfterMs / 1_000)} s.` : '';
  const what = status === 401 && code === 'authentication_required' ? ' Run `corral login`, or set CORRAL_TOKEN.' : '';
  const marks = [code, ...(requestId === null ? [] : [`request ${requestId}`])].join(', ');
  return `${detail}${shown.join('')}${more}${wait}${what} (${marks})`;
}
