/**
 * The upstream gave no usable answer to a read, after all safe retries.
 *
 * Carries no cause: errors of the HTTP layer may hold the request's headers, and so the token.
 */
export class UpstreamUnavailable extends Error {
  override readonly name: string = 'UpstreamUnavailable';

  /**
   * @param reason for our log, made of constants, status numbers and error codes
   * @param retryAfterSeconds when the budget is what lacks: how long until there is some
   */
  constructor(
    readonly reason: string,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(`The upstream DNS API is unavailable: ${reason}`);
  }
}

/** The upstream refuses our own token: no retry helps until it is replaced. */
export class UpstreamCredentialsRefused extends UpstreamUnavailable {
  override readonly name = 'UpstreamCredentialsRefused';

  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(`it refuses our token (${status} ${code}). Replace the token of the upstream project.`);
  }
}
