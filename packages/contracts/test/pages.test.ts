import { readFileSync, writeFileSync } from 'node:fs';
import { markdownTable } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import { clusterVerdictsOf, type Verdict } from '../src/cluster/access.js';
import { accountActionOf, clusterParameterOf, isForPeople } from '../src/cluster/accounts/account-access.js';
import { problemCodes } from '../src/cluster/problem-codes.js';
import { type ClusterRoute, clusterRoutes, dryRunOf } from '../src/cluster/routes.js';
import type { Role } from '../src/cluster/states.js';
import {
  clusterPhaseMeanings,
  conditionReasonMeanings,
  conditionTypeMeanings,
  connectionPhaseMeanings,
  meaningsList,
  migrationPhaseMeanings,
  operationStateMeanings,
  serverPhaseMeanings,
  waitReasonMeanings,
} from '../src/cluster/status-meanings.js';
import { dnsErrorCodes, dnsErrorsBeforeRouting } from '../src/dns/error-codes.js';
import { dnsStrangerVerdictOf, type StrangerVerdict } from '../src/dns/errors-of.js';
import { type DnsRoute, dnsRoutes } from '../src/dns/routes.js';

/* The pages of docs/ that are made from the tables of this package. */

const fileOf = (page: string): URL => new URL(`../../../docs/${page}`, import.meta.url);

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
  route.kind === 'read' ? String(route.status) : '403 `forbidden`',
  strangerCells[dnsStrangerVerdictOf(route)](route),
  String(route.status),
];

const dnsHead = [
  'route',
  'no token',
  'no scope `dns`',
  'scope `dns:read`',
  'token of another team',
  'token of the team',
];

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

/** The page docs/access.md. */
function accessPage(): string {
  return `# Access by route

Generated from the route tables (\`packages/contracts\`) by \`CORRAL_WRITE_DOCS=1 npm test -- contracts pages\`. Tests of both services
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
id that does not exist. The scope \`dns:read\` is that of viewers, in their sessions.

${markdownTable(dnsHead, dnsRoutes.map(dnsRow))}

\`/healthz\`, \`/readyz\`, \`/openapi.json\`, \`/docs/\` and the pages of problem codes at \`/problems/\` are public.
`;
}

const sections: readonly (readonly [title: string, about: string, meanings: Readonly<Record<string, string>>])[] = [
  ['Phases of a cluster', '`status.phase` of a cluster.', clusterPhaseMeanings],
  [
    'Conditions of a cluster',
    '`status.conditions[].type`. `status` is `True`, `False` or `Unknown`. These are set by Corral; conditions of the garden, such as ' +
      '`APIServerAvailable`, are passed on beside them. More may be added.',
    conditionTypeMeanings,
  ],
  [
    'Reasons of conditions',
    '`status.conditions[].reason`. Other words come from the garden. More may be added: treat an unknown one by the `status` of its ' +
      'condition, and show its `message`.',
    conditionReasonMeanings,
  ],
  [
    'Migration phases',
    '`status.migrationPhase` of a cluster while its control plane moves to another seed, which operators start. Otherwise null.',
    migrationPhaseMeanings,
  ],
  [
    'States of an operation',
    '`state` of an operation. All but `queued` and `running` are final.',
    operationStateMeanings,
  ],
  ['Why an operation waits', '`waiting.reason` of an open operation. More may be added.', waitReasonMeanings],
  ['Phases of a connection', '`status.phase` of a connection.', connectionPhaseMeanings],
  ['Phases of an adopted server', '`status.phase` of an adopted server.', serverPhaseMeanings],
];

/** The page docs/status.md. */
function statusPage(): string {
  const parts = sections.map(([title, about, meanings]) => `## ${title}\n\n${about}\n\n${meaningsList(meanings)}\n`);
  return [
    '# Phases, conditions and reasons\n',
    'Generated from `packages/contracts` by `CORRAL_WRITE_DOCS=1 npm test -- contracts pages`. The same texts are in `/openapi.json`.\n',
    'Wait for `phase`, or for the operation, and show `message` to people. Codes of failures are in [problems](problems.md) and in the ' +
      '`error` of an operation.\n',
    ...parts,
  ].join('\n');
}

describe('a page made from the tables', () => {
  it.each([
    ['access.md', accessPage()],
    ['status.md', statusPage()],
  ])('docs/%s is up to date; otherwise run: CORRAL_WRITE_DOCS=1 npm test -- contracts pages', (page, text) => {
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(fileOf(page), text);

    expect(readFileSync(fileOf(page), 'utf8')).toBe(text);
  });
});

describe('a page with a table of codes', () => {
  const ofOperations = Object.entries(dnsErrorCodes).map(([code, error]) => ({ code, ...error }));
  const ofDns = [...ofOperations, ...dnsErrorsBeforeRouting].toSorted((one, other) => one.status - other.status);
  const ofClusters = Object.entries(problemCodes).map(([code, problem]) => ({ code, ...problem }));

  it.each([
    ['errors.md', ofDns],
    ['problems.md', ofClusters],
  ])('docs/%s lists every code with its status and meaning, and no other', (page, codes) => {
    // The formatter pads table cells.
    const lines = readFileSync(fileOf(page), 'utf8')
      .split('\n')
      .map((line) => line.replace(/ +/g, ' '));

    expect(lines.filter((line) => /^\| \d{3} \|/.test(line))).toEqual(
      codes.map(({ code, status, meaning }) => `| ${status} | \`${code}\` | ${meaning} |`),
    );
  });
});
