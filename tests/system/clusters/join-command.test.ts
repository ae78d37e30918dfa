import type { AdoptedServer, AdoptedServerSpec, JoinCommand, Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { operationIdOf, type TeamClient } from '../../support/clusters/client.js';
import { aCluster, aPool, change, untilPhase } from '../../support/clusters/journey.js';
import { nodesOf } from '../../support/clusters/nodes-of.js';
import { adoptedServersPath, adoptionOf, untilServers } from '../../support/clusters/server-journey.js';
import { type ClusterSystem, startClusterSystem } from '../../support/clusters/start-cluster-system.js';

const POOL = '/clusters/web/node-pools/metal/';
const spec: AdoptedServerSpec = {
  serverID: 321,
  serverType: 'ax42',
  location: 'fsn1-dc14',
  architecture: 'amd64',
  serverKind: 'dedicated',
};
const metal = (maximum: number) => ({
  spec: { ...aPool({ name: 'metal', machineType: 'ax42', minimum: maximum, maximum }), source: 'dedicated' },
});

let system: ClusterSystem;
let admin: TeamClient;
let member: TeamClient;
beforeAll(async () => {
  system = await startClusterSystem();
  ({ admin, member } = system.teams[0] as ClusterSystem['teams'][number]);
});
afterAll(() => system?.stop());

const serverIs = (phase: AdoptedServer['status']['phase']) =>
  untilServers(member, `of which one is ${phase}`, (all) => all.some(({ status }) => status.phase === phase));
const untilWaiting = (id: string, reason: string): Promise<Operation> =>
  waitFor(`the adoption to wait: ${reason}`, async () => {
    const { json } = await member.insist({ method: 'GET', path: `/operations/${id}/` });
    if (json.waiting?.reason !== reason) throw new Error(JSON.stringify(json));
    return json;
  });
const joinCommand = () => admin.insist({ method: 'POST', path: `${adoptedServersPath}${spec.serverID}/join-command/` });
/** Runs the command on a machine outside of the cloud project. */
const run = (command: string) =>
  system.cloud.admin<{ node: string }>('POST', '/garden/machines', { command }).then(({ node }) => node);
const nodes = async (): Promise<string[]> =>
  nodesOf((await member.insist({ method: 'POST', path: '/clusters/web/kubeconfig/', body: {} })).json.kubeconfig);

describe('a machine that Corral cannot rebuild', () => {
  it('becomes a node with its join command, leaves drained, and is left for its owner to wipe', async () => {
    await change(member, 'PUT', '/clusters/web/', aCluster(system, { nodePools: [aPool()] }));
    await untilPhase(member, 'web', 'Ready');
    const before = await nodes();

    // Its adoption waits for a pool, and then for the machine.
    const adoption = operationIdOf(await admin.insist(adoptionOf(spec))) as string;
    await untilWaiting(adoption, 'NoNodePool');
    expect((await joinCommand()).json.code).toBe('server_not_joining');
    expect((await member.insist({ method: 'PUT', path: POOL, body: metal(1) })).status).toBe(201);
    const { state, waiting } = await untilWaiting(adoption, 'MachineAwaited');
    expect([state, waiting?.message]).toEqual(['running', expect.stringContaining('join command')]);

    // The issued command outlives the reconciler that waits for the machine.
    const answer = await joinCommand();
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const issued: JoinCommand = answer.json;
    await system.reconcilers[0]?.kill();
    expect(await run(issued.joinCommand)).toBe(issued.nodeName);
    await system.reconcilers[0]?.start();
    expect(await admin.untilEnded(adoption)).toMatchObject({ state: 'succeeded', progress: 100, waiting: null });
    await serverIs('Joined');
    expect(await nodes()).toEqual([...before, 'dedicated-321'].sort());
    expect((await member.insist({ method: 'GET', path: POOL })).json.status).toEqual({ pet: true, backingReady: 1 });
    const { items } = (await admin.insist({ method: 'GET', path: '/audit/?kind=server' })).json;
    expect(items[0]).toMatchObject({
      action: 'server.join_command',
      detail: { issued: true, nodeName: 'dedicated-321' },
    });

    // When it is released, it is out of the cluster, and its token is useless.
    expect((await member.insist({ method: 'DELETE', path: POOL })).status).toBe(204);
    const [left] = await serverIs('Ready');
    expect(left?.status).toMatchObject({ message: expect.stringContaining('must wipe it'), claimedBy: null });
    expect(await nodes()).toEqual(before);
    await expect(run(issued.joinCommand)).rejects.toThrow('turns the machine away');

    // A pool may claim it again, and it is removed when it is deregistered.
    expect((await member.insist({ method: 'PUT', path: POOL, body: metal(1) })).status).toBe(201);
    await serverIs('Joining');
    expect(await run((await joinCommand()).json.joinCommand)).toBe('dedicated-321');
    await serverIs('Joined');
    expect(await change(member, 'DELETE', '/clusters/web/')).toMatchObject({ state: 'succeeded' });
    await serverIs('Ready');
    const path = `${adoptedServersPath}${spec.serverID}/`;
    expect(await change(admin, 'DELETE', path)).toMatchObject({ kind: 'server.deregister', state: 'succeeded' });
    expect((await member.insist({ method: 'GET', path })).status).toBe(404);
    // No provider was asked about it.
    expect(Object.keys(await system.cloud.calls()).filter((route) => /servers/.test(route))).toEqual([]);
  });
});
