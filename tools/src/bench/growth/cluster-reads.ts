import { type Call, type Cycle, get, INVITATIONS, inviteGuest, MEMBERS, type Path, TEAM } from './call.js';
import type { Site } from './site.js';

const idOf = (site: Site, name: string): string => site.seeded.ids[name] as string;

const read = (of: Call['of'], path: Path, how?: string): Cycle => ({
  calls: [{ of, ask: get(path), ...(how === undefined ? {} : { how }) }],
});

const cursor = (name: string) => (site: Site) => encodeURIComponent(site.kept.get(name) ?? '');
const audit = `${TEAM}/audit/`;

/** Finds, once, the cursor of a page far back: half of the way to the oldest entry of the team. */
const findMiddle = async (site: Site): Promise<void> => {
  if (site.kept.has('middle')) return;
  const { rows } = await site.pool.query<{ at: Date }>(
    `SELECT to_timestamp((extract(epoch FROM min(created_at)) + extract(epoch FROM max(created_at))) / 2) AS at
     FROM dns_audit_entry WHERE team_id = (SELECT id FROM team WHERE slug = 'acme')`,
  );
  const { text } = await site.send({
    api: 'cluster',
    method: 'GET',
    path: `${audit}?limit=1&to=${(rows[0] as { at: Date }).at.toISOString()}`,
  });
  site.kept.set('middle', (JSON.parse(text) as { next: string }).next);
};

/** A span of the log with 200 entries, at any size. */
const spanOfLog = ({ seeded }: Site): string => {
  const ends = seeded.newestAt.getTime();
  return `from=${new Date(ends - 700_000).toISOString()}&to=${new Date(ends).toISOString()}`;
};

/** All reads of the cluster API but those of the sign-in. */
export const clusterReads: readonly Cycle[] = [
  read('getMe', '/api/v1/me/'),
  read('listTeams', '/api/v1/teams/'),
  read('listClusters', `${TEAM}/clusters/`),
  read('listClusters', `${TEAM}/clusters/?phase=Ready&phase=Degraded`, 'by phase'),
  read('listClusters', `${TEAM}/clusters/?phase=Hibernated`, 'by a phase that none has'),
  read('listClusters', `${TEAM}/clusters/?connection=main`, 'by connection'),
  read('getCluster', `${TEAM}/clusters/c0/`),
  read('listKubeconfigIssues', `${TEAM}/clusters/c0/kubeconfig/`),
  read('listNodePools', `${TEAM}/clusters/c0/node-pools/`),
  read('getNodePool', `${TEAM}/clusters/c0/node-pools/general/`),
  read('listOperations', `${TEAM}/operations/`),
  read('listOperations', `${TEAM}/operations/?target=c0`, 'of a cluster'),
  read('listOperations', (site) => `${TEAM}/operations/?target=${idOf(site, 'cluster')}`, 'of an id'),
  read('listOperations', `${TEAM}/operations/?state=queued&kind=cluster.create`, 'open creations'),
  read('listOperations', `${TEAM}/operations/?state=cancelled`, 'in a state that none has'),
  read('getOperation', (site) => `${TEAM}/operations/${idOf(site, 'operation')}/`),
  read('listConnections', `${TEAM}/connections/`),
  read('getConnection', `${TEAM}/connections/main/`),
  read('listAdoptedServers', `${TEAM}/connections/main/adopted-servers/`),
  read('getAdoptedServer', `${TEAM}/connections/main/adopted-servers/4711/`),
  read('getCatalogue', `${TEAM}/catalogue/?connection=main`),
  { calls: [{ of: 'streamTeamEvents', how: 'until the first', ask: get(`${TEAM}/events/`, { isEndless: true }) }] },
  read('getUsage', `${TEAM}/usage/`),
  read('getUsage', `${TEAM}/usage/?step=day`, 'by day'),
  read('listDnsTokens', `${TEAM}/dns-tokens/`),
  read('listDnsTokens', `${TEAM}/dns-tokens/?state=active`, 'active'),
  read('getDnsToken', (site) => `${TEAM}/dns-tokens/${idOf(site, 'dnsToken')}/`),
  read('getDnsUsage', `${TEAM}/dns-usage/`),
  read('listAudit', audit, 'first page'),
  {
    calls: [
      {
        of: 'listAudit',
        how: 'a page in the middle',
        prepare: findMiddle,
        ask: get((site) => `${audit}?cursor=${cursor('middle')(site)}`),
      },
    ],
  },
  read('listAudit', (site) => `${audit}?${spanOfLog(site)}`, 'of a span'),
  read('listAudit', `${audit}?kind=dns`, 'of a kind'),
  read('listAudit', `${audit}?kind=member`, 'of a rare kind'),
  read('listAudit', `${audit}?action=cluster.declare`, 'of an action'),
  read('listAudit', `${audit}?action=cluster.hibernate`, 'of a rare action'),
  read('listAudit', `${audit}?action=dns.delete`, 'of a rare action on records'),
  read('listAudit', `${audit}?outcome=refused`, 'of an outcome'),
  read('listAudit', `${audit}?outcome=settled`, 'of a rare outcome'),
  read('listAudit', `${audit}?name=s1.acme`, 'of a name'),
  read('listAudit', `${audit}?name=rare.acme`, 'of a rare record set'),
  read('listAudit', `${audit}?name=rare`, 'of a rare name'),
  read('listAudit', `${audit}?type=CNAME`, 'of a rare type'),
  read('listAudit', `${audit}?token=main`, 'of a token'),
  read('listAudit', `${audit}?token=rare`, 'of a rare token'),
  read('listAudit', `${audit}?actor=admin@acme.test`, 'of a person'),
  read('listAudit', `${audit}?actor=mate@acme.test`, 'of a person who does little'),
  read('listAudit', `${audit}?actor=upstream`, 'of the upstream'),
  read('listAudit', `${audit}?actor=operator`, 'of operators, who did nothing'),
  read('exportAudit', (site) => `${audit}export/?${spanOfLog(site)}`, 'of a span'),
  {
    calls: [{ of: 'exportAudit', how: 'until its first lines', ask: get(`${audit}export/`, { isEndless: true }) }],
    // An abandoned export holds its place until the process notices.
    timesMax: 20,
  },
  read('listTeamDetails', '/teams/api/teams/'),
  read('getTeam', ({ seeded }) => `/teams/api/teams/${seeded.teamNumber}/`),
  read('listMembers', MEMBERS),
  read('getMember', (site) => `${MEMBERS}${idOf(site, 'mate')}/`),
  read('listInvitations', INVITATIONS),
  read('listReceivedInvitations', '/invitations/'),
  {
    calls: [
      {
        of: 'getReceivedInvitation',
        prepare: inviteGuest,
        ask: get((site) => `/invitations/${idOf(site, 'invitation')}/`, { as: 'guest' }),
      },
    ],
  },
  read('listServiceAccounts', `${TEAM}/service-accounts/`),
  read('getServiceAccount', `${TEAM}/service-accounts/ci/`),
  read('listAccountTokens', `${TEAM}/service-accounts/ci/tokens/`),
  read('listTrustedIssuers', `${TEAM}/trusted-issuers/`),
  read('getTrustedIssuer', `${TEAM}/trusted-issuers/forge/`),
  read('listSessions', '/api/v1/me/sessions/'),
  read('listDevPeople', '/auth/dev-login/'),
];
