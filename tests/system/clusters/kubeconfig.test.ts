import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { TeamClient } from '../../support/clusters/client.js';
import { aCluster, change, untilPhase } from '../../support/clusters/journey.js';
import { askKubectl, clientOf, hasKubectl, nodesOf } from '../../support/clusters/nodes-of.js';
import { type ClusterSystem, startClusterSystem } from '../../support/clusters/start-cluster-system.js';

const path = '/clusters/web/kubeconfig/';
const onIssue = { api: 'garden', method: 'POST', path: 'adminkubeconfig' };

let system: ClusterSystem;
let admin: TeamClient;
let member: TeamClient;
beforeAll(async () => {
  system = await startClusterSystem();
  ({ admin, member } = system.teams[0] as ClusterSystem['teams'][number]);
  await change(member, 'PUT', '/clusters/web/', aCluster(system));
  await untilPhase(member, 'web', 'Ready');
});
afterEach(() => system.cloud.clearFaults());
afterAll(async () => {
  await system?.stop();
});

async function issue(ttlSeconds: number): Promise<{ kubeconfig: string; expiresAt: string; scope: string }> {
  const answer = await member.send({ method: 'POST', path, body: { ttlSeconds } });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return answer.json;
}
const jump = async (ms: number): Promise<number> =>
  Date.parse((await system.cloud.admin<{ now: string }>('POST', '/clock', { advanceMs: ms })).now);
/** The entries, newest first. */
const entries = async (): Promise<{ detail: object; actor: object; outcome: string }[]> =>
  (await admin.insist({ method: 'GET', path: '/audit/?kind=kubeconfig' })).json.items;

describe('a kubeconfig', () => {
  it('gives a Kubernetes client access to its cluster until `expiresAt`, and then no longer', async () => {
    const { kubeconfig, expiresAt, scope } = await issue(600);
    const client = clientOf(kubeconfig);
    const names = async () => (await client.listNode()).items.map(({ metadata }) => metadata?.name);

    expect(scope).toBe('cluster-admin');
    expect(await names()).toHaveLength(1);
    const now = await jump(0);
    await jump(Date.parse(expiresAt) - now - 120_000); // two minutes are left
    expect(await names()).toHaveLength(1);
    if (hasKubectl) expect(await askKubectl(kubeconfig)).toHaveLength(1);

    await jump(121_000);

    await expect(names()).rejects.toMatchObject({ code: 401 });
    if (hasKubectl) await expect(askKubectl(kubeconfig)).rejects.toThrow(/Unauthorized|logged in/);
    expect(await nodesOf((await issue(600)).kubeconfig)).toHaveLength(1);
    await expect(names()).rejects.toMatchObject({ code: 401 });
  });

  it('outlives another one with a shorter lifetime', async () => {
    const [short, long] = [await issue(600), await issue(28_800)];

    expect(Date.parse(long.expiresAt) - Date.parse(short.expiresAt)).toBeGreaterThan(28_000_000);
    await jump(601_000);

    await expect(clientOf(short.kubeconfig).listNode()).rejects.toMatchObject({ code: 401 });
    expect((await clientOf(long.kubeconfig).listNode()).items).toHaveLength(1);
  });
});

describe('the audit log', () => {
  const known = { ttlSeconds: 900 };
  const actor = { kind: 'user', name: 'member@acme.test' };

  it('records who was given what, and until when', async () => {
    const { expiresAt } = await issue(900);

    expect((await entries())[0]).toMatchObject({ actor, detail: { ...known, issued: true, expiresAt } });
  });

  it('says when there certainly is no credential', async () => {
    await system.cloud.addFaults({ match: onIssue, times: null, effect: { status: 503 } });

    const refused = await member.send({ method: 'POST', path, body: known });

    expect([refused.status, refused.json.code]).toEqual([502, 'upstream_unavailable']);
    expect((await entries())[0]?.detail).toEqual({ ...known, scope: 'admin', issued: false });
  });

  it('leaves open whether there is one if the answer of the garden was lost', async () => {
    await system.cloud.addFaults({ match: onIssue, times: null, effect: { reset: 'after' } });

    const refused = await member.send({ method: 'POST', path, body: known });

    expect([refused.status, refused.json.code]).toEqual([502, 'upstream_unavailable']);
    expect((await entries())[0]).toMatchObject({ actor, detail: known });
    expect((await entries())[0]?.detail).not.toHaveProperty('issued');
  });

  it('has its entry before the garden is asked, so that no crash hides an issued credential', async () => {
    const before = (await entries()).length;
    await system.cloud.addFaults({ match: onIssue, times: null, effect: { hang: true } });
    const api = system.apis[0] as ClusterSystem['apis'][number];
    const unanswered = member.send({ method: 'POST', path, body: known }).then(
      () => 'answered',
      () => 'no answer',
    );
    await waitFor('the garden to be asked', async () => {
      const { faults } = await system.cloud.admin<{ faults: { hits: number }[] }>('GET', '/faults');
      return faults.some(({ hits }) => hits > 0);
    });

    await api.kill();

    expect(await unanswered).toBe('no answer');
    await api.start();
    await api.untilReady();
    const found = await entries();
    expect(found).toHaveLength(before + 1);
    expect(found[0]).toMatchObject({ actor, detail: known });
    expect(found[0]?.detail).not.toHaveProperty('issued');
  });
});
