import { createHmac } from 'node:crypto';
import { clusterRequestExamples } from '@corral/contracts';
import { clusterSpec } from '../clusters/cluster-rig.js';
import { type Call, type Cycle, INVITATIONS, inviteGuest, keep, kept, MEMBERS, send, TEAM } from './call.js';
import type { Site } from './site.js';

/** Two numbers that differ, so that each request is a change. */
const turning = (n: number): number => 2 + (n % 2);

const clusters = `${TEAM}/clusters/`;
const fresh = (_site: Site, n: number): string => `${clusters}new-${n}/`;
const poolOfFresh = (_site: Site, n: number): string => `${clusters}new-${n}/node-pools/more/`;

/** A draft that no reconciler has started, so that its deletion needs nobody else. */
const lifeOfCluster: Cycle = {
  calls: [
    { of: 'putCluster', how: 'new', ask: send('PUT', fresh, { spec: clusterSpec(2) }) },
    { of: 'putCluster', how: 'changed', ask: send('PUT', fresh, { spec: clusterSpec(3) }) },
    { of: 'putCluster', how: 'unchanged', ask: send('PUT', fresh, { spec: clusterSpec(3) }) },
    {
      of: 'putCluster',
      how: 'dry run',
      ask: send('PUT', (s, n) => `${fresh(s, n)}?dryRun=true`, { spec: clusterSpec(4) }),
    },
    {
      of: 'putNodePool',
      how: 'new',
      ask: send('PUT', poolOfFresh, { spec: { name: 'more', machineType: 'cpx31', minimum: 1, maximum: 2 } }),
    },
    {
      of: 'putNodePool',
      how: 'changed',
      ask: send('PUT', poolOfFresh, { spec: { name: 'more', machineType: 'cpx31', minimum: 1, maximum: 3 } }),
    },
    { of: 'deleteNodePool', ask: send('DELETE', poolOfFresh) },
    { of: 'hibernateCluster', ask: send('POST', (s, n) => `${fresh(s, n)}hibernate/`) },
    { of: 'resumeCluster', ask: send('POST', (s, n) => `${fresh(s, n)}resume/`) },
    { of: 'retryCluster', ask: send('POST', (s, n) => `${fresh(s, n)}retry/`) },
    { of: 'deleteCluster', how: 'dry run', ask: send('DELETE', (s, n) => `${fresh(s, n)}?dryRun=true`) },
    { of: 'deleteCluster', ask: send('DELETE', fresh) },
  ],
};

const connections = `${TEAM}/connections/`;
const connectionSpec = (name: string) => ({ spec: { name, provider: 'hcloud', token: 'a'.repeat(64) } });

const lifeOfConnection: Cycle = {
  calls: [
    {
      of: 'createConnection',
      ask: send('POST', connections, (_s, n) => connectionSpec(`Made ${n}`)),
      take: (site, { text }) =>
        site.kept.set('connection', (JSON.parse(text) as { metadata: { ref: string } }).metadata.ref),
    },
    { of: 'verifyConnection', ask: send('POST', (s) => `${connections}${kept(s, 'connection')}/verify/`) },
    { of: 'deleteConnection', ask: send('DELETE', (s) => `${connections}${kept(s, 'connection')}/`) },
    {
      of: 'putConnection',
      ask: send('PUT', `${connections}spare/`, (_s, n) => connectionSpec(`Spare ${n}`)),
    },
  ],
};

const tokens = `${TEAM}/dns-tokens/`;
const lifeOfDnsToken: Cycle = {
  calls: [
    {
      of: 'createDnsToken',
      ask: send('POST', tokens, (_s, n) => ({ name: `made ${n}` })),
      take: keep('id', 'dnsToken'),
    },
    { of: 'revokeDnsToken', ask: send('DELETE', (s) => `${tokens}${kept(s, 'dnsToken')}/`) },
    { of: 'startDnsSession', ask: send('POST', `${TEAM}/dns-session/`) },
  ],
};

const emailOf = (n: number): string => `person-${n}@new.test`;
/** Each cycle sends two mails of the sixty that a team has per hour, which are counted in the log. */
const forgetMails = async ({ pool }: Site): Promise<void> => {
  await pool.query(
    `UPDATE audit_entry SET created_at = created_at - interval '2 h'
     WHERE team_id = (SELECT id FROM team WHERE slug = 'acme') AND action = ANY('{invitation.create,invitation.renew}')
       AND created_at > now() - interval '1 h'`,
  );
};

const lifeOfInvitation: Cycle = {
  calls: [
    {
      of: 'createInvitation',
      prepare: forgetMails,
      ask: send('POST', INVITATIONS, (_s, n) => ({ email: emailOf(n), role: 'member' })),
      take: keep('id', 'invitation'),
    },
    { of: 'renewInvitation', ask: send('POST', (s) => `${INVITATIONS}${kept(s, 'invitation')}/renew/`) },
    { of: 'revokeInvitation', ask: send('DELETE', (s) => `${INVITATIONS}${kept(s, 'invitation')}/`) },
  ],
};

const findMembership = async (site: Site): Promise<void> => {
  const { rows } = await site.pool.query<{ number: number }>(
    `SELECT membership.number FROM membership JOIN app_user ON app_user.id = user_id WHERE email = 'guest@new.test'`,
  );
  site.kept.set('guest', String(rows[0]?.number));
};

const lifeOfMembership: Cycle = {
  calls: [
    {
      of: 'acceptInvitation',
      prepare: inviteGuest,
      ask: send('POST', (s) => `/invitations/${s.seeded.ids.invitation}/accept/`, undefined, { as: 'guest' }),
    },
    {
      of: 'putMember',
      prepare: findMembership,
      ask: send('PUT', (s) => `${MEMBERS}${kept(s, 'guest')}/`, { role: 'admin' }),
    },
    { of: 'deleteMember', ask: send('DELETE', (s) => `${MEMBERS}${kept(s, 'guest')}/`) },
  ],
};

const accounts = `${TEAM}/service-accounts/`;
const issuers = `${TEAM}/trusted-issuers/`;
const trust = (n: number) => ({
  issuer: 'https://forge.test',
  audience: 'corral',
  claims: { sub: `repo:acme/${n}` },
  serviceAccount: 'ci',
});

const lifeOfAccount: Cycle = {
  calls: [
    {
      of: 'putServiceAccount',
      how: 'new',
      ask: send('PUT', (_s, n) => `${accounts}new-${n}/`, { spec: { role: 'viewer' } }),
    },
    {
      of: 'putServiceAccount',
      how: 'changed',
      ask: send('PUT', (_s, n) => `${accounts}new-${n}/`, { spec: { role: 'member' } }),
    },
    {
      of: 'createAccountToken',
      ask: send('POST', (_s, n) => `${accounts}new-${n}/tokens/`, { expiresInDays: 1 }),
      take: keep('id', 'accountToken'),
    },
    {
      of: 'revokeAccountToken',
      ask: send('DELETE', (s, n) => `${accounts}new-${n}/tokens/${kept(s, 'accountToken')}/`),
    },
    { of: 'deleteServiceAccount', ask: send('DELETE', (_s, n) => `${accounts}new-${n}/`) },
    {
      of: 'putTrustedIssuer',
      how: 'new',
      ask: send(
        'PUT',
        (_s, n) => `${issuers}new-${n}/`,
        (_s, n) => ({ spec: trust(n) }),
      ),
    },
    {
      of: 'putTrustedIssuer',
      how: 'changed',
      ask: send(
        'PUT',
        (_s, n) => `${issuers}new-${n}/`,
        (_s, n) => ({ spec: trust(-n) }),
      ),
    },
    { of: 'deleteTrustedIssuer', ask: send('DELETE', (_s, n) => `${issuers}new-${n}/`) },
  ],
};

export const BILLING_SECRET = 'billing-secret-of-the-benchmark-0123456789';

const billingEvent: Call['ask'] = (_site, n) => {
  const example = clusterRequestExamples.takeBillingEvent?.subscribed?.value as object;
  const body = { ...example, id: `event-${n}`, team: 'acme', stated_at: new Date().toISOString() };
  const seconds = Math.floor(Date.now() / 1_000);
  const digest = createHmac('sha256', BILLING_SECRET)
    .update(`${seconds}.${JSON.stringify(body)}`)
    .digest('hex');
  const headers = { 'corral-signature': `t=${seconds},v1=${digest}` };
  return { api: 'cluster', method: 'POST', path: '/billing/webhook/', as: 'nobody', body, headers };
};

/** All writes of the cluster API but those of the sign-in. */
export const clusterWrites: readonly Cycle[] = [
  lifeOfCluster,
  {
    calls: [
      {
        of: 'putCluster',
        how: 'one of several',
        ask: send('PUT', `${clusters}c1/`, (_s, n) => ({ spec: clusterSpec(turning(n)) })),
      },
    ],
  },
  lifeOfConnection,
  lifeOfDnsToken,
  lifeOfInvitation,
  lifeOfMembership,
  lifeOfAccount,
  {
    calls: [
      {
        of: 'putTeam',
        ask: send(
          'PUT',
          ({ seeded }) => `/teams/api/teams/${seeded.teamNumber}/`,
          (_s, n) => ({ name: `Acme ${n}` }),
        ),
      },
    ],
  },
  { calls: [{ of: 'takeBillingEvent', ask: billingEvent }] },
];
