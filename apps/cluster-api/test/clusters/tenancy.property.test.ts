import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, everythingOf, runningCluster } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

/** What a request of one team may name: things of its own, of the other team, and things that nobody has. */
interface World {
  readonly clusters: Readonly<Record<'ours' | 'theirs' | 'both', string>>;
  readonly operations: Readonly<Record<'ours' | 'theirs', string>>;
}

describe('two teams', () => {
  let t: TestClusterApi;
  let world: World;

  beforeAll(async () => {
    t = await startClusterApi();
    await t.db.team.updateMany({ data: { clustersMax: 1_000 } });
    for (const team of [t.acme, t.globex]) {
      await addConnection(t, team);
      await runningCluster(t, team, 'both', { plan: team === t.acme ? 'monthly' : 'annual' });
    }
    await runningCluster(t, t.acme, 'ours');
    await runningCluster(t, t.globex, 'theirs');
    const operationOf = async ({ id: teamId }: TestTeam) =>
      (await t.db.operation.findFirstOrThrow({ where: { teamId, targetName: 'both' } })).id;
    world = {
      clusters: { ours: 'ours', theirs: 'theirs', both: 'both' },
      operations: { ours: await operationOf(t.acme), theirs: await operationOf(t.globex) },
    };
  });
  afterAll(() => t.close());

  const requests = () => {
    const cluster = fc.constantFrom(...Object.values(world.clusters));
    const operation = fc.constantFrom(...Object.values(world.operations));
    const acme = t.api.as(t.acme.member);
    const under = (rest: string) => t.acme.path(rest);
    return fc.oneof(
      cluster.map((name) => ({ name, send: () => acme.get(under(`/clusters/${name}/`)) })),
      cluster.map((name) => ({ name, send: () => acme.delete(under(`/clusters/${name}/?dryRun=true`)) })),
      cluster.map((name) => ({ name, send: () => acme.post(under(`/clusters/${name}/hibernate/`)) })),
      cluster.map((name) => ({ name, send: () => acme.post(under(`/clusters/${name}/resume/`)) })),
      cluster.map((name) => ({ name, send: () => acme.post(under(`/clusters/${name}/kubeconfig/`)) })),
      cluster.map((name) => ({ name, send: () => acme.get(under(`/clusters/${name}/node-pools/`)) })),
      cluster.map((name) => ({ name, send: () => acme.get(under(`/clusters/${name}/node-pools/general/`)) })),
      cluster.map((name) => ({
        name,
        send: () => acme.put(under(`/clusters/${name}/node-pools/more/`)).send({ spec: aPool({ name: 'more' }) }),
      })),
      cluster.map((name) => ({ name, send: () => acme.delete(under(`/clusters/${name}/node-pools/more/`)) })),
      operation.map((id) => ({
        name: id === world.operations.theirs ? 'theirs' : 'ours',
        send: () => acme.get(under(`/operations/${id}/`)),
      })),
      operation.map(() => ({ name: 'all', send: () => acme.get(under('/operations/')) })),
      operation.map(() => ({ name: 'all', send: () => acme.get(under('/clusters/')) })),
      cluster.map((name) => ({ name: 'all', send: () => acme.get(under(`/operations/?target=${name}`)) })),
    );
  };

  it('never see or touch what is the other’s, whatever they ask for', async () => {
    const before = await everythingOf(t, t.globex);
    const theirIds = [...before.clusters, ...before.operations].map(({ id }) => id as string);

    await fc.assert(
      fc.asyncProperty(requests(), async ({ name, send }) => {
        const { status, text } = await send();

        if (name === 'theirs') expect(status).toBe(404);
        for (const id of theirIds) expect(text ?? '').not.toContain(id);
        expect(text ?? '').not.toContain('"annual"');
      }),
      { numRuns: 120 },
    );

    expect(await everythingOf(t, t.globex)).toEqual(before);
  });

  it('cannot reach each other’s paths: the answer is that of a team that does not exist', async () => {
    const { id } = await t.db.operation.findFirstOrThrow({ where: { teamId: t.globex.id } });
    const stranger = t.api.as(t.acme.admin);
    for (const rest of ['/clusters/', '/clusters/theirs/', '/operations/', `/operations/${id}/`]) {
      const theirs = await stranger.get(t.globex.path(rest)).expect(404);
      const nobodys = await stranger.get(`/api/v1/teams/nobody${rest}`).expect(404);

      expect({ ...theirs.body, instance: null }).toEqual({ ...nobodys.body, instance: null });
    }
  });

  it('may each have a cluster of the same name', async () => {
    const send = (team: TestTeam) =>
      t.api.as(team.member).put(team.path('/clusters/same/')).send({ spec: aClusterSpec() });

    const [one, other] = [(await send(t.acme).expect(202)).body, (await send(t.globex).expect(202)).body];

    expect(one.resource.metadata.id).not.toBe(other.resource.metadata.id);
    expect([one.resource.metadata.team, other.resource.metadata.team]).toEqual(['acme', 'globex']);
  });

  it('have quotas of their own', async () => {
    await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: 0 } });
    const send = (team: TestTeam) =>
      t.api.as(team.member).put(team.path('/clusters/one-more/')).send({ spec: aClusterSpec() });

    expect((await send(t.acme).expect(403)).body.code).toBe('quota_exceeded');
    await send(t.globex).expect(202);
  });
});
