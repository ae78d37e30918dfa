import { type Role, roleCovers } from '../roles.js';
import type { ClusterRoute } from '../route.js';
import type { AccountAction, AccountNarrowing } from './service-account.js';

/* What service accounts may do: the role as for people, then the narrowing. */

/** Whether only people have access: their own data, people of the team, the subscription, and lasting credentials. */
export const isForPeople = ({ access, people }: ClusterRoute): boolean => people === true || access === 'session';

/** The kind of action that a request to the route is. */
export function accountActionOf({ method, path, isDryRun }: ClusterRoute): AccountAction {
  if (method === 'get' || isDryRun || isDnsSession(path)) return 'read';
  if (method === 'delete') return 'delete';
  return path.endsWith('/kubeconfig/') ? 'kubeconfig' : 'change';
}

/** The DNS token that it issues only reads where the account may not write. */
const isDnsSession = (path: string): boolean => path.endsWith('/dns-session/');

/** The path parameter with the name of a cluster; null for a route that names none. */
export const clusterParameterOf = ({ path }: ClusterRoute): string | null =>
  /\/clusters\/\{(\w+)\}\//.exec(path)?.[1] ?? null;

/** @param pattern with at most one `*` at the start and one at the end */
function matches(pattern: string, name: string): boolean {
  const text = pattern.replaceAll('*', '');
  const [openStart, openEnd] = [pattern.startsWith('*'), pattern.endsWith('*')];
  if (openStart && openEnd) return name.includes(text);
  if (openStart) return name.endsWith(text);
  return openEnd ? name.startsWith(text) : name === text;
}

/** Whether one of the patterns covers the name of a cluster. */
export const coversCluster = (clusters: readonly string[], name: string): boolean =>
  clusters.some((pattern) => matches(pattern, name));

/** Whether the narrowing leaves any cluster out. */
export const isNarrowedToClusters = ({ clusters }: AccountNarrowing): boolean =>
  !clusters.some((pattern) => pattern.length > 0 && pattern.replaceAll('*', '') === '');

export type AccountRefusal = 'people' | 'role' | 'action' | 'cluster';

export interface AccountRights extends AccountNarrowing {
  readonly role: Role;
}

/**
 * Decides about a request of a service account to a route of its own team. A refusal depends on the names in the path
 * only, so it does not tell whether a cluster exists.
 *
 * @param cluster the name of a cluster in the path; null without one
 * @returns null when the account has access
 */
export function refusalOfAccount(
  rights: AccountRights,
  route: ClusterRoute,
  cluster: string | null,
): AccountRefusal | null {
  const { access } = route;
  if (access === 'public') return null;
  if (access === 'session' || isForPeople(route)) return 'people';
  if (!roleCovers(rights.role, access)) return 'role';
  if (!rights.actions.includes(accountActionOf(route))) return 'action';
  if (!isNarrowedToClusters(rights) || route.ofClusters !== undefined) return null;
  if (isDnsSession(route.path) && rights.dns.withinName !== null) return null;
  return cluster !== null && coversCluster(rights.clusters, cluster) ? null : 'cluster';
}
