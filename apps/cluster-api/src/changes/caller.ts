import type { CallingAccount } from '@corral/auth';
import { isNarrowedToClusters, type Role, type TeamId, type UserId } from '@corral/contracts';

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

/** Who makes a request, and in which team. Store functions take the team from here, and every query filters by it. */
export interface Caller extends RequestContext {
  /** Null for a service account. */
  readonly userId: UserId | null;
  /** Null for a person. */
  readonly account: CallingAccount | null;
  readonly team: { readonly id: TeamId; readonly slug: string };
  readonly role: Role;
}

/** The caller on routes for people only. */
export interface PersonCaller extends Caller {
  readonly userId: UserId;
  readonly account: null;
}

/** The clusters that the caller may see: patterns of their names; null for all. */
export const clustersOf = ({ account }: Pick<Caller, 'account'>): readonly string[] | null =>
  account !== null && isNarrowedToClusters(account) ? account.clusters : null;

/** A request with an idempotency key: repetitions must take effect once. */
export interface KeyedRequest {
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly requestHash: Buffer;
}
