import { problemCodes } from './cluster/problem-codes.js';
import { type ClusterRoute, clusterRoutes, type RouteAccess } from './cluster/routes.js';
import { type DnsRoute, dnsRoutes } from './dns/routes.js';

/*
 * Who gets what, decided once: the table in docs/access.md is made of it, and the tests of both services hold every
 * route against it.
 */

/** What a caller is answered who may not; `served` for whoever may. */
export type Verdict = 'served' | 'authentication_required' | 'permission_denied' | 'not_found';
export interface ClusterVerdicts {
  readonly nobody: Verdict;
  /** Signed in, but not in the team of the path. */
  readonly stranger: Verdict;
  readonly member: Verdict;
  readonly admin: Verdict;
}

const verdicts: Readonly<Record<RouteAccess, ClusterVerdicts>> = {
  public: { nobody: 'served', stranger: 'served', member: 'served', admin: 'served' },
  session: { nobody: 'authentication_required', stranger: 'served', member: 'served', admin: 'served' },
  member: { nobody: 'authentication_required', stranger: 'not_found', member: 'served', admin: 'served' },
  admin: { nobody: 'authentication_required', stranger: 'not_found', member: 'permission_denied', admin: 'served' },
};

export const clusterVerdictsOf = ({ access }: Pick<ClusterRoute, 'access'>): ClusterVerdicts => verdicts[access];

/**
 * What a valid token of another team is answered. `hidden`: as for what does not exist. `forbidden`: the name is not
 * theirs, whether it exists or not. `left out`: served, without the team's things. `shared`: served, the same to all.
 */
export type StrangerVerdict = 'hidden' | 'forbidden' | 'left out' | 'shared';

export function dnsStrangerVerdictOf({ path, kind }: Pick<DnsRoute, 'path' | 'kind'>): StrangerVerdict {
  if (path === '/zones' || path === '/zones/{zone}') return 'shared';
  if (kind === 'write' && path.startsWith('/zones')) return 'forbidden';
  return /\{(name|id|label)\}/.test(path) ? 'hidden' : 'left out';
}

const successesOf = (route: ClusterRoute): string => Object.keys(route.answers).join(', ');

function clusterCell(route: ClusterRoute, verdict: Verdict): string {
  if (verdict !== 'served') return `${problemCodes[verdict].status} \`${verdict}\``;
  return successesOf(route);
}

/** Members are served, but not with everything. */
const forSome = (route: ClusterRoute): string =>
  route.access === 'member' && route.problems.includes('permission_denied') ? ', or 403 `permission_denied`' : '';

function clusterRow(route: ClusterRoute): string[] {
  const { nobody, stranger, member, admin } = clusterVerdictsOf(route);
  return [
    `\`${route.method.toUpperCase()} ${route.path}\``,
    ...[clusterCell(route, nobody), clusterCell(route, stranger)],
    ...[clusterCell(route, member) + (member === 'served' ? forSome(route) : ''), clusterCell(route, admin)],
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
  '403 `forbidden`',
  strangerCells[dnsStrangerVerdictOf(route)](route),
  String(route.status),
];

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => (row[at] as string).length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] as number)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** The text of docs/access.md. */
export function renderAccess(): string {
  return `# Who gets what

Made of the route tables (\`packages/contracts\`), by \`CORRAL_WRITE_DOCS=1 npm test -- contracts access\`. Tests of both services
walk every row of it.

A number is the status of a success. A request that is admitted may be refused for what it asks: with the codes that
\`/openapi.json\` and \`/docs/\` name for the route.

## Cluster-management API

A team that the caller does not belong to does not exist for them: the answer is that of a missing thing, the same but for
\`instance\`. What is refused here is refused before the query and the body are looked at.

${markdownTable(['route', 'no session', 'foreign team', 'member', 'administrator'], clusterRoutes.map(clusterRow))}

Routes without a team in their path show what is the caller’s own. Members see and revoke their own DNS tokens, for others’
the answer is 404; administrators see those of the whole team. A member may leave the team, and remove nobody else.

## DNS record API

An absent, unknown, expired or revoked token is no token. A token of another team gets the answer that a name or an id
has which nobody holds, to the byte.

${markdownTable(['route', 'no token', 'no scope `dns`', 'token of another team', 'token of the team'], dnsRoutes.map(dnsRow))}

Beside the APIs, \`/healthz\`, \`/readyz\`, \`/openapi.json\`, \`/docs/\` and the pages of problem codes at \`/problems/\` are for everybody.
`;
}
