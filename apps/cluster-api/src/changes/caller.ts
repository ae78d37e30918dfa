import type { Role, TeamId, UserId } from '@corral/contracts';

/** One request. */
export interface RequestContext {
  /** For audit entries and error responses. */
  readonly requestId: string;
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal;
  /**
   * Stops counting the request as in flight while it waits for something with its own limits.
   *
   * @returns a function that resumes counting
   */
  readonly setAside: () => () => void;
}

/** Makes an outside call for a request, which does not count as in flight meanwhile. */
export async function whileSetAside<T>(
  { setAside }: Pick<RequestContext, 'setAside'>,
  ask: () => Promise<T>,
): Promise<T> {
  const resume = setAside();
  try {
    return await ask();
  } finally {
    resume();
  }
}

/** The user of a request and their team. Store functions take the team from here, and every query filters by it. */
export interface Caller extends RequestContext {
  readonly userId: UserId;
  readonly team: { readonly id: TeamId; readonly slug: string };
  readonly role: Role;
}

/** A request with an idempotency key: repetitions must take effect once. */
export interface KeyedRequest {
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly requestHash: Buffer;
}
