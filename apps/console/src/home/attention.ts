import type {
  CatalogueBody,
  Cluster,
  Connection,
  DanglingRecordSetListBody,
  DnsTokenBody,
  DnsUsageBody,
} from '@corral/contracts';
import { waitingPoolsOf } from '../clusters/summary.js';
import type { TeamOperation } from '../shell/use-team.js';
import { plural } from '../ui/plural.js';
import type { Tone } from '../ui/status.js';

/** Something that a person of the team should look at. */
export interface Attention {
  readonly id: string;
  readonly tone: Extract<Tone, 'bad' | 'warning'>;
  /** The kind of trouble in one or two words. */
  readonly kind: string;
  readonly subject: string;
  readonly detail: string;
  /** What the link does: verb and object. */
  readonly action: string;
  /** What the action needs; without it the link only shows the thing. */
  readonly operation?: TeamOperation;
  /** Path below that of the team. */
  readonly to: string;
}

/** What is known; undefined while it is not loaded. */
export interface HomeFacts {
  readonly clusters?: readonly Cluster[] | undefined;
  readonly connections?: readonly Connection[] | undefined;
  readonly tokens?: readonly DnsTokenBody[] | undefined;
  readonly usage?: DnsUsageBody | undefined;
  readonly dangling?: DanglingRecordSetListBody['items'] | undefined;
  readonly limits?: CatalogueBody['limits'] | undefined;
}

const DAY_MS = 86_400_000;
const TOKEN_SOON_MS = 14 * DAY_MS;
const VERSION_SOON_MS = 60 * DAY_MS;
const QUOTA_SHARE = 0.8;

/** What needs attention, the most serious first. @param now Unix time in ms */
export function attentionOf(facts: HomeFacts, now: number): Attention[] {
  return [
    ...(facts.clusters ?? []).flatMap(failureOf),
    ...(facts.connections ?? []).flatMap((connection) => rejectionOf(connection, facts.clusters ?? [])),
    ...(facts.clusters ?? []).flatMap(waitsOf),
    ...(facts.clusters ?? []).flatMap((cluster) => endingVersionOf(cluster, now)),
    ...(facts.tokens ?? []).flatMap((token) => endingTokenOf(token, now)),
    ...danglingOf(facts.dangling ?? []),
    ...fullQuotasOf(facts),
  ].sort((a, b) => Number(a.tone === 'warning') - Number(b.tone === 'warning'));
}

function failureOf({ metadata: { name }, status }: Cluster): Attention[] {
  const failed = status.lastOperation?.state === 'failed' ? status.lastOperation.error : null;
  if (failed === null && status.phase !== 'Failed' && status.phase !== 'Degraded') return [];
  const broken = status.conditions.find((condition) => condition.status === 'False');
  return [
    {
      id: `cluster ${name}`,
      tone: failed !== null || status.phase === 'Failed' ? 'bad' : 'warning',
      kind: failed === null ? status.phase : 'Failed',
      subject: name,
      detail: failed?.message ?? broken?.message ?? '',
      action: failed?.retryable === true ? 'Fix and retry' : 'Show cluster',
      operation: 'retryCluster',
      to: `/clusters/${name}`,
    },
  ];
}

function waitsOf(cluster: Cluster): Attention[] {
  const { name } = cluster.metadata;
  return waitingPoolsOf(cluster).map(({ pool, missing }) => ({
    id: `machines ${name} ${pool}`,
    tone: 'warning' as const,
    kind: 'Waits',
    subject: name,
    detail: `${pool} waits for ${plural(missing, 'machine')}.`,
    action: 'Show cluster',
    to: `/clusters/${name}`,
  }));
}

function rejectionOf({ metadata: { ref, name }, status }: Connection, clusters: readonly Cluster[]): Attention[] {
  if (status.phase !== 'Rejected') return [];
  const waiting = clusters.filter(({ spec }) => spec.connectionRef === ref).length;
  const wait = waiting === 0 ? '' : waiting === 1 ? ' 1 cluster waits.' : ` ${waiting} clusters wait.`;
  return [
    {
      id: `connection ${ref}`,
      tone: 'bad',
      kind: 'Rejected',
      subject: name,
      detail: `${status.message}${wait}`,
      action: 'Replace token',
      operation: 'putConnection',
      to: `/connections/${ref}`,
    },
  ];
}

function endingVersionOf({ metadata: { name }, status: { kubernetes } }: Cluster, now: number): Attention[] {
  const until = kubernetes?.supportedUntil ?? null;
  if (kubernetes === null || until === null || Date.parse(until) - now > VERSION_SOON_MS) return [];
  const hasEnded = Date.parse(until) <= now;
  return [
    {
      id: `version ${name}`,
      tone: hasEnded ? 'bad' : 'warning',
      kind: hasEnded ? 'Unsupported' : 'Version ends',
      subject: name,
      detail: `Kubernetes ${kubernetes.version} is supported until ${until.slice(0, 10)}.`,
      action: 'Upgrade',
      operation: 'putCluster',
      to: `/clusters/${name}`,
    },
  ];
}

function endingTokenOf({ id, name, state, expiresAt, lastUsedAt }: DnsTokenBody, now: number): Attention[] {
  if (state !== 'active' || expiresAt === null || Date.parse(expiresAt) - now > TOKEN_SOON_MS) return [];
  const use = lastUsedAt === null ? 'It was never used.' : `It was last used on ${lastUsedAt.slice(0, 10)}.`;
  return [
    {
      id: `token ${id}`,
      tone: 'warning',
      kind: 'Token expires',
      subject: name,
      detail: `It expires on ${expiresAt.slice(0, 10)}. ${use}`,
      action: 'Create another',
      to: '/dns/tokens/+',
    },
  ];
}

/** One entry, because one change may leave many of them behind. */
function danglingOf([first, ...others]: NonNullable<HomeFacts['dangling']>): Attention[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` The same for ${plural(others.length, 'other record set')}.`;
  return [
    {
      id: 'dangling record sets',
      tone: 'warning',
      kind: 'Dangling',
      subject: `${first.name} ${first.type}`,
      detail: `It leads to an address that is gone: ${first.reason}${more}`,
      action: 'Change',
      operation: 'createRrset',
      to: others.length === 0 ? `/dns/records/${first.name}/${first.type}` : '/dns/records',
    },
  ];
}

/** What the team has of its quotas, as far as it is known, with the page of each. */
export const quotasOf = ({ usage, limits }: Pick<HomeFacts, 'usage' | 'limits'>) =>
  [
    usage && { subject: 'Records', used: usage.records.used, limit: usage.records.limit, to: '/dns/records' },
    usage && { subject: 'DNS tokens', used: usage.tokens.active, limit: usage.tokens.limit, to: '/dns/tokens' },
    limits && { subject: 'Clusters', ...limits.clusters, to: '/clusters' },
    limits && { subject: 'Connections', ...limits.connections, to: '/connections' },
    limits && { subject: 'Adopted servers', ...limits.adoptedServers, to: '/connections' },
  ].filter((quota) => quota !== undefined);

const fullQuotasOf = (facts: HomeFacts): Attention[] =>
  quotasOf(facts)
    .filter(({ used, limit }) => limit > 0 && used / limit > QUOTA_SHARE)
    .map(({ subject, used, limit, to }) => ({
      id: `quota ${subject}`,
      tone: 'warning' as const,
      kind: `${Math.floor((used / limit) * 100)} % used`,
      subject,
      detail: `${used} of ${limit}. Remove some, or ask an operator for more.`,
      action: 'Show',
      to,
    }));
