import { accountActionOf, clusterParameterOf, isForPeople } from './cluster/accounts/account-access.js';
import { problemCodes } from './cluster/problem-codes.js';
import { type ClusterRoute, clusterRoutes, dryRunOf } from './cluster/routes.js';
import { type Role, roleCovers } from './cluster/states.js';
import { type DnsRoute, dnsRoutes } from './dns/routes.js';

/*
 * The access decisions, made once: docs/access.md is generated from them, and the tests of both services check every
 * route against them.
 */

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

export function clusterVerdictsOf(route: Pick<ClusterRoute, 'access' | 'people'>): ClusterVerdicts {
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

/**
 * The answer to a valid token of another team. `hidden`: as for a missing resource. `forbidden`: the name belongs to
 * another owner, whether it exists or not. `left out`: served without the team's resources. `shared`: the same answer
 * for all.
 */
export type StrangerVerdict = 'hidden' | 'forbidden' | 'left out' | 'shared';

export function dnsStrangerVerdictOf({ path, kind }: Pick<DnsRoute, 'path' | 'kind'>): StrangerVerdict {
  if (path === '/zones' || path === '/zones/{zone}') return 'shared';
  if (kind === 'write' && path.startsWith('/zones')) return 'forbidden';
  return /\{(name|id|label)\}/.test(path) ? 'hidden' : 'left out';
}

const successesOf = (route: ClusterRoute): string => Object.keys(route.answers).join(', ');

function clusterCell(route: ClusterRoute, verdict: Verdict, role: Role | null = null): string {
  if (verdict !== 'served') return `${problemCodes[verdict].status} \`${verdict}\``;
  const isPartial = role !== null && route.partialFor?.includes(role) === true;
  return successesOf(route) + (isPartial ? ', or 403 `permission_denied`' : '');
}

/** What a narrowing must contain for a service account that has one. */
function narrowingCell(route: ClusterRoute): string {
  if (route.access === 'public' || isForPeople(route)) return '';
  const names = clusterParameterOf(route) !== null;
  const clusters = names ? ', the cluster' : route.ofClusters === undefined ? ', all clusters' : '';
  return `${accountActionOf(route)}${clusters}`;
}

function clusterRow(route: ClusterRoute): string[] {
  const verdicts = clusterVerdictsOf(route);
  return [
    `\`${route.method.toUpperCase()} ${route.path}${route.isDryRun ? '?dryRun=true' : ''}\``,
    clusterCell(route, verdicts.anonymous),
    clusterCell(route, verdicts.stranger),
    clusterCell(route, verdicts.viewer, 'viewer'),
    clusterCell(route, verdicts.member, 'member'),
    clusterCell(route, verdicts.admin, 'admin'),
    clusterCell(route, verdicts.viewerAccount, 'viewer'),
    clusterCell(route, verdicts.memberAccount, 'member'),
    clusterCell(route, verdicts.adminAccount, 'admin'),
    narrowingCell(route),
  ];
}

const strangerCells: Readonly<Record<StrangerVerdict, (route: DnsRoute) => string>> = {
  hidden: () => '404 `not_found`',
  forbidden: () => '403 `forbidden`',
  'left out': ({ status }) => `${status}, without the team’s`,
  shared: ({ status }) => `${status}, the same for all`,
};

const dnsRow = (route: DnsRoute): string[] => [
  `\`${route.method.toUpperCase()} /v1${route.path}\``,
  route.tokenless === undefined ? '401 `unauthorized`' : `401 \`unauthorized\`; ${route.status} ${route.tokenless}`,
  route.anyScope ? `${route.status}, about itself only` : '403 `forbidden`',
  strangerCells[dnsStrangerVerdictOf(route)](route),
  String(route.status),
];

/** A table with columns of equal width. Cells must not contain `|`. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => (row[at] as string).length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] as number)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const clusterHead = [
  'route',
  'no session or token',
  'foreign team',
  'viewer',
  'member',
  'administrator',
  'account: viewer',
  'account: member',
  'account: administrator',
  'narrowing',
];

const clusterRows = (clusterRoutes as readonly ClusterRoute[])
  .flatMap((route) => [route, dryRunOf(route)])
  .filter((row) => row !== null);

/** Renders docs/access.md. */
export function renderAccess(): string {
  return `# Access by route

Generated from the route tables (\`packages/contracts\`) by \`CORRAL_WRITE_DOCS=1 npm test -- contracts access\`. Tests of both services
check every row.

A number is the status of a success. A request with access may still be refused for its content, with the codes that \`/openapi.json\`
and \`/docs/\` list for the route.

## Cluster-management API

A foreign team is answered like a team that does not exist: the same answer except for \`instance\`. Access is checked before the query
and the body. Dry runs change nothing, so they are reads.

${markdownTable(clusterHead, clusterRows.map(clusterRow))}

The last column is what the narrowing of a service account must contain: the kind of action, and the cluster of the path or all
clusters. Otherwise the answer is 403 \`permission_denied\`. Lists of clusters and operations contain only what the narrowing covers.

Routes without a team in their path show the caller’s own data. Members see and revoke their own DNS tokens, and get 404 for those of
others; administrators see all of the team. A viewer or a member may leave the team, but not remove others.
Viewers get kubeconfigs with the scope \`viewer\` only.

## DNS record API

An unknown, expired or revoked token is treated like a missing one. A token of another team gets, to the byte, the answer of a name or an
id that does not exist.

${markdownTable(['route', 'no token', 'no scope `dns`', 'token of another team', 'token of the team'], dnsRoutes.map(dnsRow))}

\`/healthz\`, \`/readyz\`, \`/openapi.json\`, \`/docs/\` and the pages of problem codes at \`/problems/\` are public.
`;
}
