import { Problem } from '../problem.js';

const RETRY_SECONDS = 10;

/** What openid-client throws, as far as it matters here. Told apart by name and code: its classes may be loaded twice. */
interface ProviderError {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  /** The provider's own word, such as `access_denied`. */
  readonly error?: unknown;
  readonly error_description?: unknown;
  readonly cause?: unknown;
}

/** What an answer is called that is there, but is not what it has to be. */
const unacceptable = new Set<unknown>([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_INVALID_REQUEST',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);
const CLOCKS_APART = 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED';
/** Words of the authorization endpoint for a fault of the provider (RFC 6749 section 4.1.2.1). */
const faults = new Set(['server_error', 'temporarily_unavailable']);

/** Translates why a sign-in was not finished. What no new attempt mends is the provider's fault, or the operator's. */
export function problemOfProvider(thrown: unknown): Problem {
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
  if (code === CLOCKS_APART) return refused('has a clock that differs too much from that of this service', error);
  if (unacceptable.has(code)) return refused('gave an answer that failed validation', error);
  return providerAway(error);
}

/** Without the provider nobody signs in; whoever is signed in stays so. */
export function providerAway(error: unknown): Problem {
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

/** The word is repeated to whoever sent it, so it has to be one. */
function wordOf({ error }: ProviderError): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'for an unknown reason';
}

/** For the log: without the tokens, claims and answers that the causes of these errors hold. */
function described(thrown: ProviderError): string {
  const { name, message, code, error, error_description: description } = thrown;
  const words = [code, error, description].filter((word) => typeof word === 'string');
  const here = [`${name}: ${message}`, ...words.map((word) => (word as string).slice(0, 200))].join('; ');
  return isErrorLike(thrown.cause) ? `${here}, for ${described(thrown.cause)}` : here;
}

const isErrorLike = (value: unknown): value is ProviderError =>
  typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
