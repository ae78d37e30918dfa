import { readFileSync, writeFileSync } from 'node:fs';
import { markdownTable } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import { clusterVerdictsOf, type Verdict } from '../src/cluster/access.js';
import { accountActionOf, clusterParameterOf, isForPeople } from '../src/cluster/accounts/account-access.js';
import { clusterLimits } from '../src/cluster/limits.js';
import { problemCodes } from '../src/cluster/problem-codes.js';
import type { Role } from '../src/cluster/roles.js';
import { type ClusterRoute, clusterRoutes, dryRunOf } from '../src/cluster/routes.js';
import {
  clusterPhaseMeanings,
  conditionReasonMeanings,
  conditionTypeMeanings,
  connectionPhaseMeanings,
  hostedNameStateMeanings,
  meaningsList,
  migrationPhaseMeanings,
  operationStateMeanings,
  serverPhaseMeanings,
  waitReasonMeanings,
} from '../src/cluster/status-meanings.js';
import { dnsErrorCodes, dnsErrorsBeforeRouting } from '../src/dns/error-codes.js';
import { dnsLimits } from '../src/dns/limits.js';
import { reservedSlugs, writableTypes } from '../src/dns/names.js';
import { type DnsRoute, dnsRoutes, dnsStrangerVerdictOf, type StrangerVerdict } from '../src/dns/routes.js';
import { retentionLimits } from '../src/retention.js';
import { teamLimitMax, teamQuotaMax } from '../src/team-quotas.js';

/* The pages of docs/ that are made from the tables of this package. */

const fileOf = (page: string): URL => new URL(`../../../docs/${page}`, import.meta.url);

const successesOf = (route: ClusterRoute): string => Object.keys(route.answers).join(', ');

function clusterCell(route: ClusterRoute, verdict: Verdict, role: Role): string {
  if (verdict === 'permission_denied') return '–';
  const served = verdict === 'served' ? successesOf(route) : `${problemCodes[verdict].status} \`${verdict}\``;
  return served + (route.partialFor?.includes(role) === true ? ' or –' : '');
}

/** What a narrowing must contain for a service account that has one. */
function narrowingCell(route: ClusterRoute): string {
  if (route.access === 'public' || isForPeople(route)) return '';
  const names = clusterParameterOf(route) !== null;
  const clusters = names ? ', the cluster' : route.ofClusters === undefined ? ', all clusters' : '';
  return `${accountActionOf(route)}${clusters}`;
}

const nameOf = (route: ClusterRoute): string =>
  `\`${route.method.toUpperCase()} ${route.path}${route.isDryRun ? '?dryRun=true' : ''}\``;

function clusterRow(route: ClusterRoute): string[] {
  const verdicts = clusterVerdictsOf(route);
  return [
    nameOf(route),
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
const isPublic = (route: ClusterRoute): boolean => clusterVerdictsOf(route).anonymous === 'served';

/** The page docs/access.md. */
function accessPage(): string {
  return `# Access by route

Generated from the route tables (\`packages/contracts\`) by \`CORRAL_WRITE_DOCS=1 npm test -- contracts pages\`. Tests of both services
check every row.

A number is the status of a success. A request with access may still be refused for its content, with the codes that \`/openapi.json\`
and \`/docs/\` list for the route.

## Cluster-management API

A dash is 403 \`permission_denied\`. Without a session or token the answer is 401 \`authentication_required\`. A foreign team is answered
like one that does not exist: 404 \`not_found\`, the same but for \`instance\`. Access is checked before the query and the body. Dry runs
change nothing, so they are reads.

${markdownTable(clusterHead, clusterRows.filter((route) => !isPublic(route)).map(clusterRow))}

Everybody may call these: ${clusterRows
    .filter(isPublic)
    .map((route) => `${nameOf(route)} (${successesOf(route)})`)
    .join(', ')}.

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
  ['States of a name on a cluster', '`state` of a name on a cluster.', hostedNameStateMeanings],
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

const amount = (value: number, unit = ''): string => `${value.toLocaleString('en')}${unit === '' ? '' : ` ${unit}`}`;

/** The page docs/limits.md. */
function limitsPage(): string {
  const [dns, clusters, kept] = [dnsLimits, clusterLimits, retentionLimits];
  const quotas = [
    ['DNS records', amount(dns.recordsPerTeam), amount(teamQuotaMax.dnsRecords)],
    ['clusters', amount(clusters.clustersPerTeam), amount(teamQuotaMax.clusters)],
    ['node pools of a cluster', amount(clusters.poolsPerCluster), amount(teamQuotaMax.poolsPerCluster)],
    [
      'nodes of a cluster, by the maximums of its pools',
      amount(clusters.nodesPerCluster),
      amount(teamQuotaMax.nodesPerCluster),
    ],
    ['adopted servers', amount(clusters.adoptedServersPerTeam), amount(teamQuotaMax.adoptedServers)],
    [
      'requests to the DNS API per minute, of the team',
      amount(dns.requestsPerTeamPerMinute),
      amount(teamLimitMax.dnsRequests),
    ],
    ['the same of one DNS token', amount(dns.requestsPerTokenPerMinute), amount(teamLimitMax.dnsTokenRequests)],
    [
      'requests to the cluster API per minute, of a person or service account',
      amount(clusters.requestsPerPersonPerMinute),
      `${amount(teamLimitMax.accountRequests)}, of accounts`,
    ],
  ];
  const fixed = [
    ['records of a record set', amount(dns.recordsPerRrset)],
    ['characters of a record value', amount(dns.valueCharacters)],
    ['labels of a record set', amount(dns.labelsPerRrset)],
    ['lowest TTL', amount(dns.ttlSecondsMin, 's')],
    ['active DNS tokens of a team', amount(dns.activeTokensPerTeam)],
    ['reads of actions per minute, of one DNS token', amount(dns.actionReadsPerTokenPerMinute)],
    ['longest wait of a write', amount(dns.writeWaitMs / 1_000, 's')],
    ['writes of a token that wait', amount(dns.waitingWritesPerToken)],
    ['longest wait of a read of one record set', amount(dns.readWaitMs / 1_000, 's')],
    ['live demos of a team', amount(dns.demosPerTeam)],
    ['longest life of a demo', amount(dns.demoTtlSecondsMax / 86_400, 'days')],
    ['connections of a team', amount(clusters.connectionsPerTeam)],
    ['service accounts of a team', amount(clusters.serviceAccountsPerTeam)],
    ['active tokens of a service account', amount(clusters.accountTokensActive)],
    ['longest life of a token of a service account', amount(clusters.accountTokenDays, 'days')],
    ['life of a token by exchange', amount(clusters.exchangedTokenSeconds / 60, 'minutes')],
    ['trusted issuers of a team', amount(clusters.trustedIssuersPerTeam)],
    ['webhooks of a team', amount(clusters.webhooksPerTeam)],
    ['names on a cluster', amount(clusters.hostedNamesPerCluster)],
    ['kubeconfigs of a cluster per hour, of a person and scope', amount(clusters.kubeconfigsPerClusterPerHour)],
    ['longest life of a kubeconfig', amount(clusters.kubeconfigSecondsMax / 3_600, 'hours')],
    ['join commands of a server per hour', amount(clusters.joinCommandsPerServerPerHour)],
    ['open invitations of a team', amount(clusters.invitationsPerTeam)],
    ['validity of an invitation', amount(clusters.invitationDays, 'days')],
    ['sessions of a person', amount(clusters.sessionsPerPerson)],
    ['life of a code for a machine without a browser', amount(clusters.deviceCodeSeconds / 60, 'minutes')],
    ['wrong codes of that kind per minute, of a person', amount(clusters.userCodesPerPersonPerMinute)],
    ['changes of a team that wait for an earlier one', amount(clusters.changesWaitingPerTeam)],
    ['longest wait for the end of an operation in one request', amount(clusters.operationWaitSecondsMax, 's')],
    ['open streams of live changes, of a team and replica', amount(clusters.eventStreamsPerTeam)],
    ['requests without a valid credential per minute, of an address', amount(dns.requestsPerAddressPerMinute)],
  ];
  const retention = [
    ['audit log, addresses that are gone', amount(kept.auditDays, 'days'), 'operators set it'],
    ['usage by the hour', amount(kept.usageDays, 'days'), ''],
    ['operations', amount(kept.operationDays, 'days'), `the newest ${kept.operationsOfKindKept} of each kind stay`],
    ['ended sessions', amount(kept.sessionDays, 'days'), ''],
    ['the name of a deleted team', amount(kept.teamSlugDays, 'days'), 'then another team can have it'],
    ['live changes, to continue a stream', amount(clusters.teamEventsKeptHours, 'hours'), ''],
    ['answers to an `Idempotency-Key`', amount(kept.idempotencyKeyHours, 'hours'), ''],
  ];
  return `# Limits and quotas

Generated from \`packages/contracts\` by \`CORRAL_WRITE_DOCS=1 npm test -- contracts pages\`.

## How many records and clusters a team can have

Operators set defaults for the installation, and other values for a team (\`corral-admin team set-quota <team>\`, \`set-limit\`), up to the maximum. Ask them.

${markdownTable(['limit', 'default', 'maximum'], quotas)}

Your values and what is left of them: \`GET …/usage/\` and the page _Usage_ of the console; for DNS, \`corral dns whoami\`.

## What is fixed

${markdownTable(['limit', 'value'], fixed)}

In addition, all teams share the budget of the upstream: [what one token carries](upstream-budget.md). What happens at a limit is in
[errors of the DNS API](errors.md#limits-in-headers) and [problems](problems.md).

## How long data is kept

${markdownTable(['data', 'kept for', ''], retention)}
`;
}

/** The page docs/record-names.md. */
function recordNamesPage(): string {
  const list = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ');
  const rules = [
    ['name', `relative to the zone: \`www.acme\`, without the zone and without a final dot`],
    ['characters', `\`a\` to \`z\`, \`0\` to \`9\`, \`-\` and \`_\`. Capitals are refused, not changed`],
    ['label', `1 to ${dnsLimits.labelCharacters} characters`],
    ['length', `at most ${dnsLimits.fullNameCharacters} characters with the zone`],
    ['wildcard', `\`*\` as the whole first label: \`*.acme\``],
    ['other alphabets', `in their ASCII form: \`xn--bcher-kva.acme\``],
    ['types', `${list(writableTypes)}. Others are read only`],
    ['CNAME', `alone at its name`],
    ['TXT', `in quotes, strings of at most 255 bytes`],
  ];
  return `# Rules of record names

Generated from \`packages/contracts\` by \`CORRAL_WRITE_DOCS=1 npm test -- contracts pages\`.

The last label of a name decides whose it is. The team \`acme\` has \`acme\` and everything below it, such as \`www.acme\` and
\`_acme-challenge.shop.acme\`, and nothing else: not \`xacme\`, not the zone itself (\`@\`).

${markdownTable(['rule', 'allowed'], rules)}

A [narrowed token](dns-tokens.md) covers less: the name that it is narrowed to and those below it, and its types.

## Names of teams

1 to 63 of \`a\` to \`z\`, \`0\` to \`9\` and \`-\`, with no hyphen at either end, and not beginning with \`xn--\`. These have a meaning for the whole zone, so no
team gets them:

${list(reservedSlugs)}.
`;
}

describe('a page made from the tables', () => {
  it.each([
    ['access.md', accessPage()],
    ['status.md', statusPage()],
    ['limits.md', limitsPage()],
    ['record-names.md', recordNamesPage()],
  ])('docs/%s is up to date; otherwise run: CORRAL_WRITE_DOCS=1 npm test -- contracts pages', (page, text) => {
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(fileOf(page), text);

    expect(readFileSync(fileOf(page), 'utf8')).toBe(text);
  });
});

describe('the table of access', () => {
  it('says of all routes what it says in a sentence', () => {
    const others = clusterRows.filter((route) => !isPublic(route));
    const verdicts = others.map((route) => ({ route: nameOf(route), ...clusterVerdictsOf(route) }));

    expect(verdicts.filter(({ anonymous }) => anonymous !== 'authentication_required')).toEqual([]);
    const isOfTeam = ({ route }: { route: string }) => /\{team(_id|_slug)?\}/.test(route);
    expect(verdicts.filter((row) => row.stranger !== (isOfTeam(row) ? 'not_found' : 'served'))).toEqual([]);
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
