import type { RequestScope } from '@corral/admission';
import type { CallingAccount } from '@corral/auth';
import { isNarrowedToClusters, type Role, type TeamId, type UserId } from '@corral/contracts';

export interface RequestContext {
  /** The id in audit entries and error responses. */
  readonly requestId: string;
  /** It says when to stop. */
  readonly scope: RequestScope;
}

/** The one who makes a request, and the team. Store functions take the team from here, and every query filters by it. */
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
export const clustersOf = ({ account }: Caller): readonly string[] | null =>
  account !== null && isNarrowedToClusters(account) ? account.clusters : null;

/** A request with an idempotency key: repetitions must take effect once. */
export interface KeyedRequest {
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly requestHash: Buffer;
}
