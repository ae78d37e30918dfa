import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, type ClusterTest, freshName, startWithConnection } from '../support/clusters.js';

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status).sort();

describe('concurrent changes', () => {
  let t: ClusterTest;
  let name: string;
  const path = (rest = '') => t.acme.path(`/clusters/${name}/${rest}`);
  const put = (spec: object, of = name) =>
    t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${of}/`))
      .send({ spec });
  const stored = async () => {
    const cluster = await t.db.cluster.findUnique({
      where: { teamId_name: { teamId: t.acme.id, name } },
      include: { nodePools: true },
    });
    const operations = await t.db.operation.findMany({ where: { targetName: name }, orderBy: { generation: 'asc' } });
    return { cluster, operations };
  };

  const isLockWaiting = async (locktype: string): Promise<boolean> => {
    const { rowCount } = await t.pool.query(
      `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
       WHERE NOT granted AND locktype = $1 AND datname = current_database()`,
      [locktype],
    );
    return rowCount === 1;
  };

  beforeAll(async () => {
    t = await startWithConnection();
  });
  afterAll(() => t.close());
  beforeEach(() => {
    name = freshName(t);
  });

  it('create one cluster from equal declarations', async () => {
    const answers = await Promise.all(times(20, () => put(aClusterSpec())));

    expect(statuses(answers)).toEqual([...times(19, () => 200), 202]);
    const { cluster, operations } = await stored();
    expect(cluster).toMatchObject({ generation: 1, revision: 1 });
    expect(operations).toHaveLength(1);
    const ids = answers.map(({ body }) => (body.resource ?? body).metadata.id);
    expect(new Set(ids).size).toBe(1);
  });

  it('are serialized when they differ, and leave one open operation', async () => {
    const answers = await Promise.all(
      times(20, (index) => put(aClusterSpec({ nodePools: [aPool({ maximum: index + 1 })] }))),
    );

    expect(statuses(answers)).toEqual(times(20, () => 202));
    const { cluster, operations } = await stored();
    expect(operations.map(({ generation }) => generation)).toEqual(times(20, (index) => index + 1));
    expect(operations.map(({ state }) => state)).toEqual([...times(19, () => 'superseded'), 'queued']);
    expect(cluster?.generation).toBe(20);
    const newest = answers.find(({ body }) => body.resource.metadata.generation === 20);
    expect(cluster?.nodePools[0]?.maximum).toBe(newest?.body.resource.spec.nodePools[0].maximum);
    expect(cluster?.desiredHash).toBe(newest?.body.operation.desiredHash);
  });

  it('with the same tag have one winner', async () => {
    await t.clusters.running(name);
    const { etag } = (await t.api.as(t.acme.member).get(path())).headers;

    const answers = await Promise.all(
      times(10, (index) =>
        put(aClusterSpec({ nodePools: [aPool({ maximum: 10 + index })] })).set('If-Match', etag as string),
      ),
    );

    expect(statuses(answers)).toEqual([202, ...times(9, () => 412)]);
  });

  it('with If-None-Match create one cluster', async () => {
    const answers = await Promise.all(times(10, () => put(aClusterSpec()).set('If-None-Match', '*')));

    expect(statuses(answers)).toEqual([202, ...times(9, () => 412)]);
  });

  it('add all their pools', async () => {
    await t.clusters.declare(name);

    const answers = await Promise.all(
      times(12, (index) =>
        t.api
          .as(t.acme.member)
          .put(path(`node-pools/p${index}/`))
          .send({ spec: aPool({ name: `p${index}` }) }),
      ),
    );

    expect(statuses(answers)).toEqual(times(12, () => 201));
    const { cluster } = await stored();
    expect(cluster?.nodePools).toHaveLength(13);
    expect(new Set(cluster?.nodePools.map(({ position }) => position)).size).toBe(13);
    expect(cluster?.generation).toBe(13);
  });

  it('never remove the last pool of a running cluster', async () => {
    await t.clusters.running(name, { nodePools: times(4, (index) => aPool({ name: `p${index}` })) });

    const answers = await Promise.all(
      times(4, (index) => t.api.as(t.acme.member).delete(path(`node-pools/p${index}/`))),
    );

    expect(statuses(answers)).toEqual([204, 204, 204, 422]);
    expect((await stored()).cluster?.nodePools).toHaveLength(1);
  });

  it('that declare and delete leave either a consistent cluster or none', async () => {
    await t.clusters.declare(name);

    const answers = await Promise.all([
      put(aClusterSpec({ plan: 'annual' })),
      t.api.as(t.acme.member).delete(path()),
      put(aClusterSpec({ plan: 'monthly' })),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([202, 204, 202]);
    const { cluster, operations } = await stored();
    const open = operations.filter(({ state }) => state === 'queued');
    expect(open).toHaveLength(cluster === null ? 0 : 1);
    expect(open[0]?.targetId).toBe(cluster?.id);
    expect(open[0]?.desiredHash).toBe(cluster?.desiredHash);
  });

  it('wait for a starting first pass and then delete a started cluster', async () => {
    await t.clusters.declare(name);
    const pass = await t.pool.connect();
    await pass.query('BEGIN');
    await pass.query('UPDATE cluster SET started_at = clock_timestamp() WHERE name = $1', [name]);

    const deletion = t.api
      .as(t.acme.member)
      .delete(path())
      .then((answer) => answer);
    await waitFor('the deletion to wait for the pass', () => isLockWaiting('transactionid'));
    await pass.query('COMMIT');
    pass.release();

    expect((await deletion).status).toBe(202);
    expect((await stored()).cluster).toMatchObject({ phase: 'Deleting', startedAt: expect.any(Date) });
  });

  it('that delete are one deletion', async () => {
    await t.clusters.running(name);

    const answers = await Promise.all(times(10, () => t.api.as(t.acme.member).delete(path())));

    expect(statuses(answers)).toEqual(times(10, () => 202));
    expect(new Set(answers.map(({ body }) => body.operation.id)).size).toBe(1);
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create succeeded', 'cluster.delete queued']);
  });

  it('with the same idempotency key create one operation', async () => {
    await t.clusters.running(name);

    const answers = await Promise.all(
      times(6, () => t.api.as(t.acme.member).post(path('hibernate/')).set('Idempotency-Key', `once-${name}`)),
    );

    expect(statuses(answers)).toEqual(times(6, () => 202));
    expect(new Set(answers.map(({ body }) => body.operation.id)).size).toBe(1);
  });

  it('never exceed the quota of clusters', async () => {
    const before = await t.db.cluster.count({ where: { teamId: t.acme.id } });
    await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: before + 3 } });
    try {
      const answers = await Promise.all(times(10, (index) => put(aClusterSpec(), `${name}-${index}`)));

      expect(statuses(answers)).toEqual([202, 202, 202, ...times(7, () => 403)]);
      const refused = answers.find(({ status }) => status === 403);
      expect(refused?.body.code).toBe('quota_exceeded');
      expect(await t.db.cluster.count({ where: { teamId: t.acme.id } })).toBe(before + 3);
    } finally {
      await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: 1_000 } });
    }
  });

  it('never exceed the quota of nodes', async () => {
    await t.clusters.declare(name, { nodePools: [aPool({ maximum: 70 })] });

    const answers = await Promise.all(
      times(6, (index) =>
        t.api
          .as(t.acme.member)
          .put(path(`node-pools/p${index}/`))
          .send({ spec: aPool({ name: `p${index}`, maximum: 10 }) }),
      ),
    );

    expect(statuses(answers)).toEqual([201, 201, 201, 403, 403, 403]);
  });

  it('give readers a consistent snapshot', async () => {
    await t.clusters.declare(name);
    const writer = await t.pool.connect();
    await writer.query('BEGIN');
    await writer.query('LOCK TABLE node_pool IN ACCESS EXCLUSIVE MODE');

    const reading = t.api
      .as(t.acme.member)
      .get(path())
      .then((answer) => answer);
    await waitFor('the reader to wait for the pools', () => isLockWaiting('relation'));
    await writer.query('UPDATE cluster SET generation = 2 WHERE name = $1', [name]);
    await writer.query(
      'UPDATE node_pool SET maximum = 9 FROM cluster WHERE cluster_id = cluster.id AND cluster.name = $1',
      [name],
    );
    await writer.query('COMMIT');
    writer.release();

    const { metadata, spec } = (await reading).body;
    expect([
      [1, 3],
      [2, 9],
    ]).toContainEqual([metadata.generation, spec.nodePools[0].maximum]);
  });

  it('leave nothing behind when a change fails to be written', async () => {
    await t.clusters.running(name);
    await t.pool.query(
      `CREATE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no audit'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_audit()`,
    );
    try {
      const { cluster: before } = await stored();
      await put(aClusterSpec({ nodePools: [aPool({ name: 'other' })] })).expect(500);

      const { cluster, operations } = await stored();
      expect(cluster).toEqual(before);
      expect(operations).toHaveLength(1);
    } finally {
      await t.pool.query('DROP TRIGGER refuse ON audit_entry; DROP FUNCTION refuse_audit');
    }
    await t.clusters.converge(name);
  });

  it('wait for the deletion of their connection and are then refused', async () => {
    await addConnection(t, t.acme, { ref: name });
    const deletion = await t.pool.connect();
    await deletion.query('BEGIN');
    await deletion.query('DELETE FROM connection WHERE ref = $1', [name]);

    const declaration = put(aClusterSpec({ connectionRef: name })).then((answer) => answer);
    await waitFor('the declaration to wait for the deletion', () => isLockWaiting('transactionid'));
    await deletion.query('COMMIT');
    deletion.release();

    const { status, body } = await declaration;
    expect([status, body.code, body.errors?.[0].pointer]).toEqual([422, 'validation_failed', '/spec/connectionRef']);
    expect((await stored()).cluster).toBeNull();
  });

  it('keep the connection of a cluster that is being declared', async () => {
    await addConnection(t, t.acme, { ref: name });
    const { id: connectionId } = await t.db.connection.findUniqueOrThrow({
      where: { teamId_ref: { teamId: t.acme.id, ref: name } },
    });
    const declaration = await t.pool.connect();
    await declaration.query('BEGIN');
    await declaration.query(
      `INSERT INTO cluster (team_id, name, connection_id, spec, desired_hash) VALUES ($1, $2, $3, '{}', 'h')`,
      [t.acme.id, name, connectionId],
    );

    const deletion = t.api
      .as(t.acme.admin)
      .delete(t.acme.path(`/connections/${name}/`))
      .then((answer) => answer);
    await waitFor('the deletion to wait for the declaration', () => isLockWaiting('transactionid'));
    await declaration.query('COMMIT');
    declaration.release();

    const { status, body } = await deletion;
    expect([status, body.code]).toEqual([409, 'connection_in_use']);
  });

  it('that delete a connection and declare a cluster on it leave both or neither', async () => {
    const refs = times(8, (index) => `${name}-${index}`);
    await Promise.all(refs.map((ref) => addConnection(t, t.acme, { ref })));

    const outcomes = await Promise.all(
      refs.map(async (ref) =>
        statuses(
          await Promise.all([
            put(aClusterSpec({ connectionRef: ref }), ref),
            t.api.as(t.acme.admin).delete(t.acme.path(`/connections/${ref}/`)),
          ]),
        ).join(),
      ),
    );

    for (const outcome of outcomes) expect(['202,409', '204,422']).toContain(outcome);
  });

  it('retry with another generated name after a collision', async () => {
    await t.clusters.declare(name);
    const { cluster } = await stored();
    // The first new row gets the name of the existing one. The next one keeps its generated name.
    await t.pool.query(
      `CREATE SEQUENCE tries;
       CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('tries') = 1 THEN NEW.shoot_name := '${cluster?.shootName}'; END IF; RETURN NEW; END $$;
       CREATE TRIGGER collide BEFORE INSERT ON cluster FOR EACH ROW EXECUTE FUNCTION collide()`,
    );
    try {
      await put(aClusterSpec(), `${name}-next`).expect(202);
    } finally {
      await t.pool.query('DROP TRIGGER collide ON cluster; DROP FUNCTION collide; DROP SEQUENCE tries');
    }
    expect(await t.clusters.operationsOf(`${name}-next`)).toEqual(['cluster.create queued']);
  });
});
