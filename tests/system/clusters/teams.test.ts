import { createHmac } from 'node:crypto';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { callClusterApi } from '../../support/clusters/call-api.js';
import { signIn } from '../../support/clusters/client.js';
import { type ClusterSystem, startClusterSystem } from '../../support/clusters/start-cluster-system.js';

const SECRET = 'a-secret-of-the-billing-system';
const EMAIL = 'ada@elsewhere.test';

let system: ClusterSystem;
let base: string;
let admin: string;
beforeAll(async () => {
  system = await startClusterSystem({ mails: true, apiEnv: { BILLING_WEBHOOK_SECRETS: SECRET } });
  base = (system.apis[0] as { base: string }).base;
  admin = await signIn(base, 'admin@acme.test');
});
afterAll(() => system.stop());

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}
const mails = async () => (await system.cloud.admin<{ mails: Mail[] }>('GET', '/mails')).mails;

async function ask(cookie: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) {
  const { status, json } = await callClusterApi(base, { method, path, headers: { cookie }, ...(body && { body }) });
  return { status, json };
}
const clustersOf = async (cookie: string) => (await ask(cookie, 'GET', '/api/v1/teams/acme/clusters/')).status;
const team = async (cookie = admin) => {
  const { json: list } = await ask(cookie, 'GET', '/teams/api/teams/');
  return list.items[0];
};

it('a new member is invited by mail, signs in, joins as the mail says, is promoted, and loses access as soon as they are removed', async () => {
  const invitations = '/a/acme/team/api/invitations/';
  const { status, json: invitation } = await ask(admin, 'POST', invitations, { email: EMAIL });
  expect(status).toBe(201);

  const mail = await waitFor('the mail', async () => (await mails())[0]);
  expect(mail).toMatchObject({ to: EMAIL, subject: 'Invitation to the team acme' });
  expect(mail.text).toContain(`${base}/console/invitations/${invitation.id}/`);
  const accept = `/invitations/${invitation.id}/accept/`;

  const ada = await signIn(base, EMAIL);
  expect(await clustersOf(ada)).toBe(404);
  expect(await ask(ada, 'POST', accept)).toMatchObject({
    status: 200,
    json: { team_slug: 'acme', is_accepted: true },
  });
  expect(await clustersOf(ada)).toBe(200);
  expect((await ask(ada, 'GET', invitations)).status).toBe(403);

  const member = (await team()).members.find((each: { display_name: string }) => each.display_name === EMAIL);
  const path = `/a/acme/team/api/members/${member.id}/`;
  expect((await ask(admin, 'PUT', path, { role: 'admin' })).status).toBe(200);
  expect((await ask(ada, 'GET', invitations)).status).toBe(200);
  expect((await ask(admin, 'DELETE', path)).status).toBe(200);
  expect(await clustersOf(ada)).toBe(404);
  expect((await ask(ada, 'POST', accept)).status).toBe(404);

  const { json: audit } = await ask(admin, 'GET', '/api/v1/teams/acme/audit/');
  expect(audit.items.map(({ action }: { action: string }) => action).slice(0, 5)).toEqual([
    'member.remove',
    'member.change',
    'invitation.accept',
    'invitation.create_user',
    'invitation.create',
  ]);
  expect(await mails()).toHaveLength(1);
});

it('the team sees what the billing system states about its subscription', async () => {
  const subscription = {
    id: 'sub_1',
    display_name: 'Plan',
    billing_interval: 'month',
    status: 'active',
    quantity: 1,
    start_date: '2026-01-01T00:00:00Z',
    cancel_at_period_end: false,
    items: [],
    current_period_start: '2026-11-01T00:00:00Z',
    current_period_end: '2026-12-01T00:00:00Z',
  };
  const body = JSON.stringify({ id: 'evt_1', stated_at: '2026-11-21T10:00:00Z', team: 'acme', subscription });
  const seconds = Math.floor(Date.now() / 1_000);
  const digest = createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex');
  const send = (signature: string) =>
    fetch(`${base}/billing/webhook/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Corral-Signature': signature },
      body,
    });

  expect((await send(`t=${seconds},v1=${'0'.repeat(64)}`)).status).toBe(403);
  expect((await team()).has_active_subscription).toBe(false);
  expect((await send(`t=${seconds},v1=${digest}`)).status).toBe(200);

  expect(await team()).toMatchObject({ has_active_subscription: true, subscription: { id: 'sub_1', quantity: 1 } });
});
