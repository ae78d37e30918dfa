import type { DnsRoute } from '../dns/routes.js';
import { isForPeople } from './accounts/account-access.js';
import { type Role, roleCovers, roles } from './roles.js';
import type { ClusterRoute } from './route.js';

/* The access decisions, made once: docs/access.md is generated from them, and the tests check every route against them. */

/** The answer to a caller without access; `served` for a caller with access. */
export type Verdict = 'served' | 'authentication_required' | 'permission_denied' | 'not_found';
export interface ClusterVerdicts {
  readonly anonymous: Verdict;
  /** Signed in, but not in the team of the path. */
  readonly stranger: Verdict;
  readonly viewer: Verdict;
  readonly member: Verdict;
  readonly admin: Verdict;
  /** Service accounts of the team, by role, without a narrowing. */
  readonly viewerAccount: Verdict;
  readonly memberAccount: Verdict;
  readonly adminAccount: Verdict;
}

const outsiders = {
  public: { anonymous: 'served', stranger: 'served' },
  session: { anonymous: 'authentication_required', stranger: 'served' },
  team: { anonymous: 'authentication_required', stranger: 'not_found' },
} as const;

export function clusterVerdictsOf(route: ClusterRoute): ClusterVerdicts {
  const { access } = route;
  const isOpen = access === 'public' || access === 'session';
  const ofPerson = (role: Role): Verdict => (isOpen || roleCovers(role, access) ? 'served' : 'permission_denied');
  const ofAccount = (role: Role): Verdict => (isForPeople(route) ? 'permission_denied' : ofPerson(role));
  return {
    ...outsiders[isOpen ? access : 'team'],
    viewer: ofPerson('viewer'),
    member: ofPerson('member'),
    admin: ofPerson('admin'),
    viewerAccount: ofAccount('viewer'),
    memberAccount: ofAccount('member'),
    adminAccount: ofAccount('admin'),
  };
}

/** The least role that has access to all of a route; null where access does not depend on a role in a team. */
export function roleNeededFor({ access, partialFor = [] }: ClusterRoute): Role | null {
  if (access === 'public' || access === 'session') return null;
  return roles.findLast((role) => roleCovers(role, access) && !partialFor.includes(role)) ?? null;
}

/** The same for the DNS API, with the token of a person's session. */
export const roleNeededForDns = ({ kind }: DnsRoute): Role => (kind === 'read' ? 'viewer' : 'member');
