import type { Examples } from '../../openapi-parts.js';

const at = '2026-11-21T12:00:00.000Z';
const one = (summary: string, value: unknown): Examples => ({ example: { summary, value } });
const page = (summary: string, item: unknown): Examples => one(summary, { items: [item], next: null });

const member = { id: 12, user_id: 7, first_name: 'Ada', last_name: 'Byron', display_name: 'Ada Byron', role: 'admin' };
const invitation = {
  id: '0197b2f0-0000-7000-8000-000000001e1e',
  team: 3,
  email: 'grace@acme.test',
  role: 'member',
  invited_by: 'ada@acme.test',
  is_accepted: false,
};
const sent = { ...invitation, created_at: at, expires_at: '2026-12-05T12:00:00.000Z', mail_sent_at: at };
const received = {
  ...invitation,
  team_slug: 'acme',
  team_name: 'Acme',
  expires_at: '2026-12-05T12:00:00.000Z',
};
const subscription = {
  id: 'sub_815',
  display_name: 'Standard',
  start_date: at,
  billing_interval: 'month',
  current_period_start: at,
  current_period_end: '2026-12-21T12:00:00.000Z',
  cancel_at_period_end: false,
  status: 'active',
  quantity: 1,
  items: [
    {
      id: 'si_1',
      price: {
        id: 'price_1',
        product_name: 'Standard',
        human_readable_price: '49 € / month',
        payment_amount: '49.00',
        unit_amount: 4_900,
      },
      quantity: 1,
    },
  ],
};
const team = {
  id: 3,
  name: 'Acme',
  slug: 'acme',
  members: [member],
  invitations: [invitation],
  dashboard_url: 'https://clusters.example.org/a/acme/',
  is_admin: true,
  subscription,
  has_active_subscription: true,
};
const session = {
  id: '0197b2f0-0000-7000-8000-000000005e55',
  method: 'oidc',
  name: null,
  userAgent: 'Firefox/143.0',
  createdAt: at,
  lastSeenAt: at,
  expiresAt: '2026-11-22T00:00:00.000Z',
  current: true,
};
const membership = { id: 3, slug: 'acme', name: 'Acme', role: 'admin' };

/** Examples of teams, members, invitations, subscriptions and sessions. */
export const peopleAnswerExamples: Readonly<Record<string, Examples>> = {
  team: one('A team, as an administrator sees it', team),
  teamDetailList: page('The teams', team),
  teamList: page('The teams, abbreviated', membership),
  memberRemoval: one('A token was revoked', {
    dns_tokens: { revoked: [{ id: '0197b2f0-0000-7000-8000-00000000d0d0', name: 'external-dns' }], handed_over: [] },
  }),
  teamMember: one('A member', member),
  teamMemberList: page('The members', member),
  invitation: one('An invitation', invitation),
  sentInvitationList: page('Open invitations', sent),
  receivedInvitation: one('An invitation to the caller', received),
  receivedInvitationList: page('Invitations to the caller', received),
  billingOutcome: one('Taken', { outcome: 'applied' }),
  sessionList: page('The sessions', session),
  issuedToken: one('A session of the command line', {
    access_token: 'Zm9yLXRoZS1kb2N1bWVudGF0aW9uLW9ubHktLS0tLS0',
    token_type: 'Cookie',
    expires_in: 604_800,
  }),
  devPeople: one('The people of the development set-up', {
    items: [{ email: 'admin@acme.test', displayName: '', teams: [{ slug: 'acme', role: 'admin' }] }],
  }),
  me: one('A user with one team', {
    id: 7,
    email: 'ada@acme.test',
    displayName: 'Ada',
    session: { createdAt: at, expiresAt: '2026-11-28T12:00:00.000Z', idleExpiresAt: '2026-11-22T00:00:00.000Z' },
    teams: [membership],
  }),
};

/** Examples of request bodies, by operation. */
export const peopleRequestExamples: Readonly<Record<string, Examples>> = {
  putTeam: one('Another name', { name: 'Acme Industries' }),
  createInvitation: one('A new member', { email: 'grace@acme.test', role: 'member' }),
  putMember: one('Make the member an administrator', { role: 'admin' }),
  takeBillingEvent: {
    subscribed: {
      summary: 'A team subscribed',
      value: { id: 'evt_1', stated_at: at, team: 'acme', subscription, active: true },
    },
    ended: { summary: 'A subscription ended', value: { id: 'evt_2', stated_at: at, team: 3, subscription: null } },
  },
  devSignIn: one('A user of the development set-up', { email: 'admin@acme.test' }),
  authorize: one('The person agrees', { request: 'from-the-page', decision: 'allow' }),
  exchangeToken: {
    exchange: {
      summary: 'A pipeline becomes a service account',
      value: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        audience: 'acme/ci',
        subject_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      },
    },
    code: {
      summary: 'The command line redeems its code',
      value: {
        grant_type: 'authorization_code',
        client_id: 'corral-cli',
        code: 'SplxlOBeZQQYbYS6WxSbIA-SplxlOBeZQQYbYS6WxSb',
        redirect_uri: 'http://127.0.0.1:51004/callback',
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      },
    },
  },
};
