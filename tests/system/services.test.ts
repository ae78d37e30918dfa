import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/clients/answer.js';
import { callDns } from '../support/clients/dns-api.js';
import { callClusterApi } from '../support/clusters/call-api.js';
import { signIn } from '../support/clusters/client.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { type Gateway, ZONE } from '../support/system/system-parts.js';

/* What teams get from both services together. */

const EMAIL = 'ada@elsewhere.test';

let system: ClusterSystem;
let base: string;
let admin: string;
beforeAll(async () => {
  system = await startClusterSystem({
    gateways: 2,
    teams: ['acme', 'globex'],
    mails: true,
  });
  base = (system.apis[0] as { base: string }).base;
  admin = await signIn(base, 'admin@acme.test');
});
afterAll(() => system?.stop());

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

async function makeToken({ member }: ClusterTeam, body: object): Promise<{ id: string; token: string }> {
  const { status, json } = await member.send({ method: 'POST', path: '/dns-tokens/', body });
  expect(status).toBe(201);
  return json as { id: string; token: string };
}
const write = ({ url }: Gateway, token: string, name: string): Promise<Answer> =>
  callDns(url, {
    method: 'POST',
    path: `/zones/${ZONE}/rrsets`,
    token,
    body: { name, type: 'TXT', records: [{ value: '"from a test"' }] },
  });

describe('a token that a member creates', () => {
  it('works at every gateway within its narrowed name, and everything it did can be looked up', async () => {
    const [acme, globex] = system.teams as [ClusterTeam, ClusterTeam];
    const [one, two] = system.gateways as [Gateway, Gateway];
    const { id, token } = await makeToken(acme, { name: 'ci', withinName: 'ci.acme', withinTypes: ['TXT'] });

    const written = [await write(one, token, 'ci.acme'), await write(two, token, 'x.ci.acme')];
    const refused = [await write(one, token, 'www.acme'), await write(two, token, 'ci.globex')];

    expect([...written, ...refused].map(({ status }) => status)).toEqual([201, 201, 403, 403]);
    const log = await acme.admin.send({ method: 'GET', path: `/audit/?token=${id}` });
    expect(log.json.items).toMatchObject([
      ...['ci.globex', 'www.acme'].map((name) => ({
        outcome: 'unsent',
        dns: { name, refusalCode: 'forbidden', count: 1 },
      })),
      {
        action: 'dns.create',
        outcome: 'completed',
        actor: { name: 'ci' },
        dns: { name: 'x.ci.acme', upstreamStatus: 201 },
      },
      { dns: { name: 'ci.acme', requestBody: { records: [{ value: '"from a test"' }] } } },
    ]);
    const foreign = await globex.admin.send({ method: 'GET', path: '/audit/export/' });
    expect(foreign.text).not.toContain('acme');

    await Promise.all(system.gateways.map((gateway) => gateway.stop())); // at the latest now they write what they counted
    const usage = await acme.member.send({ method: 'GET', path: '/dns-usage/' });
    expect(usage.json).toMatchObject({
      records: { used: 2, reserved: 0 },
      tokens: { active: 1, limit: 5 },
      requests: { lastHour: 4 },
      upstream: { observedAt: expect.any(String) },
    });
  });
});
