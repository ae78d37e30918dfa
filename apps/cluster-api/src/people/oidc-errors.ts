import { Problem } from '../problem.js';

const RETRY_SECONDS = 10;

/**
 * The relevant fields of openid-client's errors. Compared by name and code, because its classes may be loaded twice.
 */
interface ProviderError {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  /** The provider's error code, such as `access_denied`. */
  readonly error?: unknown;
  readonly cause?: unknown;
}

/** Codes for a response that failed validation. */
const unacceptable = new Set<unknown>([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_INVALID_REQUEST',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);
const CLOCK_SKEW = 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED';
/** Error codes of the authorization endpoint for faults of the provider (RFC 6749 section 4.1.2.1). */
const faults = new Set(['server_error', 'temporarily_unavailable']);

/** Maps the failure of a sign-in. Failures that a new attempt cannot fix count as an unavailable provider. */
export function signInProblemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = thrown as ProviderError;
  const { name, code } = error;
  const word = wordOf(error);
  if (name === 'AuthorizationResponseError' && word === 'access_denied') {
    return new Problem(
      'sign_in_cancelled',
      'The sign-in was cancelled at the identity provider. Start again at /auth/login/.',
    );
  }
  if (name === 'AuthorizationResponseError' && !faults.has(word))
    return refused(`refused the sign-in (${word})`, error);
  if (name === 'ResponseBodyError' && word === 'invalid_grant') {
    return refused('did not accept the code of this attempt. The code may be expired or already used', error);
  }
  if (code === CLOCK_SKEW) return refusedClock(error);
  if (unacceptable.has(code)) return refused('gave an answer that failed validation', error);
  return identityProviderAway(error);
}

/** The times of an ID token do not fit the clock of this service. */
export const refusedClock = (error: ProviderError = { name: 'IdToken', message: 'issued in the future' }): Problem =>
  refused('has a clock that differs too much from that of this service', error);

/** The provider is unavailable. Existing sessions keep working. */
export function identityProviderAway(error: unknown): Problem {
  const detail = 'The identity provider does not answer correctly. Try again in a moment.';
  return new Problem('upstream_unavailable', detail, {
    retryAfterSeconds: RETRY_SECONDS,
    cause: new Error(described(error as ProviderError)),
  });
}

const refused = (what: string, error: ProviderError): Problem =>
  new Problem('sign_in_refused', `The identity provider ${what}. Start again at /auth/login/.`, {
    cause: new Error(described(error)),
  });

/** The code is repeated in the response and in the log, so only harmless characters are allowed. */
function wordOf({ error }: ProviderError): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'for an unknown reason';
}

/**
 * For the log. Leaves out all that the provider wrote but its error code: its answers, tokens and claims, its description, which may
 * repeat the authorization code or an address, and what a parser cites of an answer that it cannot read.
 */
function described(thrown: ProviderError): string {
  const { name, code, error, cause } = thrown;
  const message = name === 'SyntaxError' ? 'not JSON' : thrown.message;
  const words = [
    `${name}: ${message}`,
    ...(typeof code === 'string' ? [code] : []),
    ...(error === undefined ? [] : [wordOf(thrown)]),
  ];
  const here = words.join('; ');
  return isErrorLike(cause) ? `${here}, for ${described(cause)}` : here;
}

const isErrorLike = (value: unknown): value is ProviderError =>
  typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
