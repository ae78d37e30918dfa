import { type Log, type LogFields, silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Changed, ClusterRow, Declared, TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

let at: Clusters;
beforeAll(async () => {
  at = await startClusters();
});
afterAll(() => at.close());

describe('foreign changes', () => {
  let reconciler: Reconciler;
  beforeAll(async () => {
    // The sweep must not find a cluster between a test's change and its wake-up.
    reconciler = await at.start({ intervals: { sweep: 3_600_000 } });
  });
  afterAll(() => reconciler.stop());

  /** Makes the declaration older, because a change within two seconds of it counts as earlier. */
  const age = (operationId: string) =>
    at.pool.query("UPDATE operation SET created_at = created_at - interval '10 s' WHERE id = $1", [operationId]);

  /** A Ready cluster that needs no more steps. */
  async function aReadyCluster(pools: readonly { name: string }[] = [{ name: 'general' }]): Promise<TestCluster> {
    const { team, connectionId } = await at.addConnectionOfTeam();
    const cluster = await at.declare(team, connectionId, { pools });
    await age(cluster.operationId);
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    return cluster;
  }

  const shootOf = async (cluster: TestCluster) => {
    const [namespace, name] = await at.placeOf(cluster);
    const shoot = await at.garden.readShoot({ namespace, name });
    if (shoot === null) throw new Error('The Shoot is gone.');
    return shoot;
  };
  const workersOf = async (cluster: TestCluster) =>
    ((await shootOf(cluster)).spec.provider as { workers: Record<string, unknown>[] }).workers;

  /** An operator edits the Shoot manually. */
  async function edit(cluster: TestCluster, spec: object, manager = 'kubectl-edit'): Promise<void> {
    const [namespace, name] = await at.placeOf(cluster);
    at.cloud.admin.garden.editShoot(namespace, name, { manager, patch: { spec } });
  }
  async function scale(cluster: TestCluster, maximum: number, manager?: string): Promise<void> {
    const [first, ...others] = await workersOf(cluster);
    await edit(cluster, { provider: { workers: [{ ...first, maximum }, ...others] } }, manager);
  }
  /** Declares a change and acts before any pass, by holding the lease in between. @returns the operation's id */
  async function declareBefore(cluster: TestCluster, changed: Changed, act: () => Promise<void>): Promise<string> {
    await waitFor('running passes to end', async () => {
      const { rowCount } = await at.pool.query(
        "UPDATE cluster SET lease_until = clock_timestamp() + interval '1 h' WHERE id = $1 AND lease_until IS NULL",
        [cluster.id],
      );
      return rowCount === 1;
    });
    const { operationId } = await at.change(cluster, changed);
    await age(operationId);
    await act();
    await at.pool.query('UPDATE cluster SET lease_until = NULL, due_at = clock_timestamp() WHERE id = $1', [
      cluster.id,
    ]);
    await reconciler.wake(cluster.id);
    return operationId;
  }
  async function declare(cluster: TestCluster, changed: Changed) {
    const { operationId } = await at.change(cluster, changed);
    await reconciler.wake(cluster.id);
    return untilEnded(at, operationId);
  }
  const conditionOf = ({ conditions }: ClusterRow, name: string) => conditions.find(({ type }) => type === name);
  const untilDrifted = (cluster: TestCluster) =>
    untilRow(at, cluster.id, (row) => conditionOf(row, 'Reconciled')?.reason === 'Drifted');
  const overridesOf = async (cluster: TestCluster) => {
    const { rows } = await at.pool.query(
      `SELECT detail FROM audit_entry WHERE target_id = $1 AND action = 'cluster.override' ORDER BY id`,
      [cluster.id],
    );
    return rows.map(({ detail }) => detail);
  };

  describe('a declared field that an operator changes', () => {
    it('is reported with its manager and kept until the team’s next declaration', async () => {
      const cluster = await aReadyCluster();
      await scale(cluster, 7);

      const row = await untilDrifted(cluster);
      const kept = await workersOf(cluster);
      const operation = await declare(cluster, { pools: [{ name: 'general', maximum: 5 }] });

      expect(conditionOf(row, 'Reconciled')).toMatchObject({
        status: 'False',
        message:
          'Another manager changed fields that are declared here: maximum of node pool general is 7 instead of 3 (kubectl-edit).',
      });
      expect(kept).toMatchObject([{ maximum: 7 }]);
      expect(operation).toMatchObject({ state: 'succeeded' });
      expect(await workersOf(cluster)).toMatchObject([{ maximum: 5 }]);
      expect(await overridesOf(cluster)).toEqual([
        { generation: 2, fields: [{ field: 'maximum of node pool general', manager: 'kubectl-edit' }] },
      ]);
      await untilRow(at, cluster.id, (each) => conditionOf(each, 'Reconciled')?.status === 'True');
    });

    it('fails a conflicting change after ten minutes, with field and manager', async () => {
      const cluster = await aReadyCluster();
      const operationId = await declareBefore(cluster, { pools: [{ name: 'general', maximum: 5 }] }, () =>
        scale(cluster, 7, 'gitops-controller'),
      );

      await untilDrifted(cluster);
      expect(await at.operation(operationId)).toMatchObject({ state: 'running' });
      await at.pool.query("UPDATE operation SET created_at = created_at - interval '11 min' WHERE id = $1", [
        operationId,
      ]);
      await waitFor('a pass that finds the conflict eleven minutes old', async () => {
        // A running pass writes what it read before.
        await at.pool.query(
          `UPDATE cluster SET due_at = clock_timestamp(), conditions = (
           SELECT json_agg(each || jsonb_build_object('lastTransitionTime', clock_timestamp() - interval '11 min'))
           FROM jsonb_array_elements(conditions::jsonb) each) WHERE id = $1`,
          [cluster.id],
        );
        await reconciler.wake(cluster.id);
        return (await at.operation(operationId)).finished_at !== null;
      });

      expect(await untilEnded(at, operationId)).toMatchObject({
        state: 'failed',
        error: {
          code: 'field_conflict',
          message:
            'Another manager changed fields that are declared here: maximum of node pool general is 7 instead of 5 (gitops-controller).',
        },
      });
      expect(await workersOf(cluster)).toMatchObject([{ maximum: 7 }]);
    });
  });

  describe('maintenance of the garden', () => {
    it('raises an expired version, which the team can raise further', async () => {
      const cluster = await aReadyCluster();
      const { kubernetesVersions } = await at.garden.readCloudProfile();
      const { version } = (await shootOf(cluster)).spec.kubernetes as { version: string };
      const expired = { version, classification: 'supported', expirationDate: '2020-01-01T00:00:00Z' };
      const newer = { version: version.replace(/\d+$/, '99'), classification: 'supported' };
      const offered = kubernetesVersions.map((each) => ({
        version: each.version,
        classification: each.classification,
        ...(each.expirationDate === null ? {} : { expirationDate: each.expirationDate }),
      }));
      const offer = (versions: object[]) => at.cloud.admin.garden.patchCloudProfile({ kubernetes: { versions } });
      offer([...offered.filter((each) => each.version !== version), expired, newer]);
      await edit(cluster, { kubernetes: { version: newer.version } }, 'gardener-controller-manager');
      offer([...offered, newer]);
      await untilRow(at, cluster.id, ({ pinned_version }) => pinned_version === newer.version);

      const operation = await declare(cluster, { spec: { kubernetesVersion: '1.34' } });

      expect(operation).toMatchObject({ state: 'succeeded' });
      expect((await shootOf(cluster)).spec.kubernetes).toMatchObject({ version: expect.stringMatching(/^1\.34\./) });
      expect(await overridesOf(cluster)).toEqual([
        { generation: 2, fields: [{ field: 'kubernetesVersion', manager: 'gardener-controller-manager' }] },
      ]);
    });
  });

  describe('a garden that has lost its field managers', () => {
    it('gets them again, and undeclared pools are removed', async () => {
      const cluster = await aReadyCluster([{ name: 'general' }, { name: 'second' }]);
      at.cloud.admin.garden.forgetManagers(...(await at.placeOf(cluster)));
      await reconciler.wake(cluster.id);

      const operation = await declare(cluster, { pools: [{ name: 'general', maximum: 4 }] });

      expect(operation).toMatchObject({ state: 'succeeded' });
      expect(await workersOf(cluster)).toMatchObject([{ maximum: 4 }]);
      expect(await overridesOf(cluster)).toEqual([]);
    });
  });

  describe('a pool that another manager added', () => {
    const add = async (cluster: TestCluster, name: string, manager?: string) => {
      const workers = await workersOf(cluster);
      const { labels: _, ...copy } = workers[0] as Record<string, unknown>;
      await edit(cluster, { provider: { workers: [...workers, { ...copy, name, maximum: 2 }] } }, manager);
    };
    const namesOf = async (cluster: TestCluster) => (await workersOf(cluster)).map(({ name }) => name);

    it('is reported with its manager, and kept until the team declares pools', async () => {
      const cluster = await aReadyCluster();
      const [general] = await namesOf(cluster);
      await add(cluster, 'batch');

      const row = await untilDrifted(cluster);
      const asleep = await declare(cluster, { spec: { hibernated: true }, kind: 'cluster.hibernate' });
      const awake = await declare(cluster, { spec: { hibernated: false }, kind: 'cluster.resume' });
      const kept = await namesOf(cluster);
      await untilDrifted(cluster);
      const operation = await declare(cluster, { pools: [{ name: 'general', maximum: 5 }] });

      expect(conditionOf(row, 'Reconciled')).toMatchObject({
        message: 'Another manager added fields that are not declared here: node pool batch (kubectl-edit).',
      });
      expect([asleep.state, awake.state, kept]).toEqual(['succeeded', 'succeeded', [general, 'batch']]);
      expect(operation).toMatchObject({ state: 'succeeded' });
      expect(await namesOf(cluster)).toEqual([general]);
      expect(await overridesOf(cluster)).toEqual([
        { generation: 4, fields: [{ field: 'node pool batch', manager: 'kubectl-edit' }] },
      ]);
      await untilRow(at, cluster.id, (each) => conditionOf(each, 'Reconciled')?.status === 'True');
    });
  });
});

describe('a garden in the way', () => {
  let reconciler: Reconciler;
  const errors: { message: string; fields: LogFields | undefined }[] = [];
  beforeAll(async () => {
    const note = (message: string, fields?: LogFields) => void errors.push({ message, fields });
    const log: Log = { ...silentLog, error: note, child: () => log };
    reconciler = await at.start({ log });
  });
  afterAll(() => reconciler.stop());
  afterEach(() => {
    at.cloud.admin.clearFaults();
    const plain = { startUp: 'over', shootsMax: null, secretsMax: null, undeclaredFields: [], admission: [] } as const;
    at.cloud.admin.garden.changeSettings(plain);
    at.cloud.admin.garden.setRights('reconciler', null);
  });

  async function declared(isTeamNew = false): Promise<TestCluster> {
    const { team, connectionId } = await (isTeamNew ? at.addTeamWithConnection() : at.addConnectionOfTeam());
    return at.declare(team, connectionId);
  }
  /** Lets time pass for the cluster and wakes it. */
  async function requestPass({ id }: TestCluster): Promise<void> {
    await at.pass(id, 3_600_000);
    await reconciler.wake(id);
  }
  const reconciledOf = ({ conditions }: { conditions: { type: string; reason: string; message: string }[] }) =>
    conditions.find(({ type }) => type === 'Reconciled');

  describe('a quota of the garden', () => {
    it.each(['shootsMax', 'secretsMax'])(
      '(%s) is reported as a platform limit, and the operation continues when it is lifted',
      async (quota) => {
        at.cloud.admin.garden.changeSettings({ [quota]: 0 });
        const cluster = await declared(true);
        await reconciler.wake(cluster.id);

        const row = await untilRow(at, cluster.id, (each) => reconciledOf(each)?.reason === 'PlatformQuotaExceeded');
        const waiting = await at.operation(cluster.operationId);
        at.cloud.admin.garden.changeSettings({ [quota]: null });
        await requestPass(cluster);
        const { state } = await untilEnded(at, cluster.operationId);

        expect([waiting.state, state]).toEqual(['running', 'succeeded']);
        expect(reconciledOf(row)?.message).toContain('A limit of this platform');
        expect(row.conditions.filter(({ type }) => type === 'SpecAccepted' || type === 'ConnectionReady')).toEqual([
          expect.objectContaining({ status: 'True' }),
          expect.objectContaining({ status: 'True' }),
        ]);
        expect(errors).toContainEqual(
          expect.objectContaining({
            message: 'pass failed',
            fields: expect.objectContaining({ clusterId: cluster.id, failure: 'platform' }),
          }),
        );
      },
    );
  });

  describe('a policy of the garden', () => {
    const small = {
      name: 'small-clusters',
      kind: 'policy',
      when: '"maximum":9',
      message: 'At most 5 nodes per pool.\n\tAsk platform@example.org for more',
    } as const;

    it('refuses a specification in its own words, and nothing else', async () => {
      at.cloud.admin.garden.changeSettings({ admission: [small] });
      const { team, connectionId } = await at.addConnectionOfTeam();
      const cluster = await at.declare(team, connectionId, { pools: [{ name: 'general', maximum: 9 }] });
      await reconciler.wake(cluster.id);

      const refused = await untilEnded(at, cluster.operationId);
      const row = await at.row(cluster.id);
      const { operationId } = await at.change(cluster, { pools: [{ name: 'general', maximum: 5 }] });
      await reconciler.wake(cluster.id);
      const accepted = await untilEnded(at, operationId);

      const message =
        'The policy small-clusters of the garden refuses the specification: At most 5 nodes per pool. Ask platform@example.org for more.';
      expect(refused).toMatchObject({ state: 'failed', error: { code: 'refused_by_garden', message } });
      expect(row.conditions).toContainEqual(
        expect.objectContaining({ type: 'SpecAccepted', status: 'False', message }),
      );
      expect(accepted).toMatchObject({ state: 'succeeded' });
    });
  });

  describe('an admission webhook that does not answer', () => {
    it('keeps only the clusters of its namespace waiting, and is named', async () => {
      const { team, connectionId } = await at.addConnectionOfTeam();
      const first = await at.declare(team, connectionId);
      await reconciler.wake(first.id);
      await untilEnded(at, first.operationId);
      const [namespace] = await at.placeOf(first);
      at.cloud.admin.garden.changeSettings({
        admission: [{ name: 'own.example.org', kind: 'dead webhook', namespace }],
      });
      const blocked = await Promise.all([1, 2, 3, 4].map(() => at.declare(team, connectionId)));
      for (const { id } of blocked) await reconciler.wake(id);
      for (const { id } of blocked) await untilRow(at, id, ({ waiting }) => waiting?.reason === 'WebhookUnavailable');

      const other = await declared(true);
      await reconciler.wake(other.id);
      const unhindered = await untilEnded(at, other.operationId);
      const pauses = await reconciler.metrics.registry.getSingleMetric('corral_reconcile_pauses_total')?.get();
      const { state, waiting } = await at.operation((blocked[0] as TestCluster).operationId);
      at.cloud.admin.garden.changeSettings({ admission: [] });
      await requestPass(blocked[0] as TestCluster);
      const ended = await untilEnded(at, (blocked[0] as TestCluster).operationId);

      expect([unhindered.state, ended.state]).toEqual(['succeeded', 'succeeded']);
      expect(pauses?.values.find(({ labels }) => labels.reason === 'away')?.value).toBe(0);
      expect(state).toBe('running');
      expect(waiting?.message).toBe(
        'The admission webhook own.example.org of the garden does not answer. Work continues once it does.',
      );
    });
  });

  describe('a garden that has just started', () => {
    it.each(['anonymous', 'rights'] as const)(
      'and denies every request (%s) counts as unavailable, and no operation fails',
      async (startUp) => {
        const cluster = await declared();
        at.cloud.admin.garden.changeSettings({ startUp });
        await reconciler.wake(cluster.id);
        await untilRow(at, cluster.id, ({ failures }) => failures > 0);

        const waiting = await at.operation(cluster.operationId);
        at.cloud.admin.garden.changeSettings({ startUp: 'over' });
        await requestPass(cluster);
        const { state } = await untilEnded(at, cluster.operationId);

        expect([['queued', 'running'].includes(waiting.state), state]).toEqual([true, 'succeeded']);
      },
    );
  });

  describe('blocked operations', () => {
    afterEach(() => at.cloud.admin.garden.clearShootFaults());

    async function begun(): Promise<TestCluster> {
      const cluster = await declared();
      await reconciler.wake(cluster.id);
      return cluster;
    }
    async function goingAfter(ready: (namespace: string, name: string) => void) {
      const cluster = await begun();
      await untilEnded(at, cluster.operationId);
      ready(...(await at.placeOf(cluster)));
      const operationId = await at.requestDeletion(cluster);
      await reconciler.wake(cluster.id);
      return { ...cluster, operationId };
    }
    /** What the operation waits for, once it is this. The condition says the same. */
    async function untilWaiting({ id, operationId }: TestCluster, reason: string) {
      const { conditions } = await untilRow(at, id, ({ waiting }) => waiting?.reason === reason);
      const { state, waiting } = await at.operation(operationId);
      const said = conditions.find(({ type }) => type === 'Reconciled');
      expect([state, said?.reason, said?.message]).toEqual(['running', waiting?.reason, waiting?.message]);
      return waiting?.message;
    }

    describe('an operation that the garden tries again and again', () => {
      it('says what it waits for, with pool, machine type and region, and since when', async () => {
        at.cloud.admin.garden.addShootFaults({
          times: null,
          effect: { codes: ['ERR_INFRA_RESOURCES_DEPLETED'], message: 'server type cpx31 is currently unavailable' },
        });
        const cluster = await begun();

        expect(await untilWaiting(cluster, 'ProviderOutOfStock')).toBe(
          'The provider has no capacity left for a machine type in fsn1. Concerned: node pool general (cpx31).',
        );
        at.cloud.admin.garden.clearShootFaults();
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', waiting: null });
      });
    });

    describe('a deletion', () => {
      it('names the objects in the cluster that block its clean-up', async () => {
        const cluster = await goingAfter(() =>
          at.cloud.admin.garden.addShootFaults({
            operations: ['Delete'],
            times: null,
            effect: {
              codes: ['ERR_CLEANUP_CLUSTER_RESOURCES'],
              message: 'remaining objects are still present: [*v1.Namespace /shop apps/v1, Kind=Deployment shop/web]',
            },
          }),
        );

        expect(await untilWaiting(cluster, 'CleanupBlocked')).toBe(
          'Objects in the cluster cannot be deleted. Concerned: Namespace shop, Deployment shop/web.',
        );
        at.cloud.admin.garden.clearShootFaults();
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', waiting: null });
      });

      it('names the finalizer that somebody else has set, and ends once it is gone', async () => {
        let place: [string, string] = ['', ''];
        const cluster = await goingAfter((...found) => {
          place = found;
          const patch = { metadata: { finalizers: ['gardener', 'example.org/keep'] } };
          at.cloud.admin.garden.editShoot(...place, { manager: 'backup-operator', patch });
        });

        expect(await untilWaiting(cluster, 'CleanupBlocked')).toBe(
          'The cluster is gone, but finalizers of others keep its entry in the garden: example.org/keep. Whoever set them has to remove them.',
        );
        at.cloud.admin.garden.removeFinalizers(...place);
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', waiting: null });
      });
    });
  });
});

describe('expired catalogue', () => {
  let reconciler: Reconciler;
  let offered: ReturnType<Clusters['cloud']['admin']['garden']['catalogue']>['spec'];
  beforeAll(() => {
    offered = at.cloud.admin.garden.catalogue().spec;
  });
  afterEach(async () => {
    await reconciler.stop();
    at.cloud.admin.garden.patchCloudProfile(offered);
  });

  async function ready(declared: Declared): Promise<TestCluster> {
    // Each test has a catalogue that no pass has read before.
    reconciler = await at.start();
    const { team, connectionId } = await at.addConnectionOfTeam();
    const cluster = await at.declare(team, connectionId, declared);
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    return cluster;
  }

  async function ended(cluster: TestCluster, changed: Parameters<Clusters['change']>[1]) {
    const { operationId } = await at.change(cluster, changed);
    await reconciler.wake(cluster.id);
    return untilEnded(at, operationId);
  }

  interface Spec {
    readonly provider: {
      readonly workers: readonly {
        readonly maximum: number;
        readonly machine: { readonly type: string; readonly architecture: string; readonly image: object };
      }[];
    };
  }
  async function specOf(cluster: TestCluster): Promise<Spec> {
    const [namespace, name] = await at.placeOf(cluster);
    return at.cloud.admin.garden.editShoot(namespace, name, {}).spec as Spec;
  }

  /** The garden's maintenance raises the image of the first pool, as it must once it has expired. */
  async function maintain(cluster: TestCluster, version: string): Promise<void> {
    const [namespace, name] = await at.placeOf(cluster);
    const [first, ...others] = (await specOf(cluster)).provider.workers;
    const raised = { ...first, machine: { ...first?.machine, image: { name: 'ubuntu', version } } };
    at.cloud.admin.garden.editShoot(namespace, name, {
      manager: 'gardener-controller-manager',
      patch: { spec: { provider: { workers: [raised, ...others] } } },
    });
  }

  const reconciledOf = ({ conditions }: { conditions: { type: string; message: string }[] }) =>
    conditions.find(({ type }) => type === 'Reconciled')?.message;

  describe('a cluster whose image has expired and was raised by the garden', () => {
    it('is scaled, hibernated and resumed with the image that it runs, and tells so', async () => {
      const pinned = { name: 'general', image: { name: 'ubuntu', version: '24.4.0' } };
      const cluster = await ready({ pools: [pinned] });
      at.cloud.admin.garden.expire({ image: { name: 'ubuntu', version: '24.4.0' } });
      await maintain(cluster, '24.4.1');

      const raised = await untilRow(at, cluster.id, (row) => reconciledOf(row)?.includes('24.4.1') === true);
      const ends = [
        await ended(cluster, { pools: [{ ...pinned, maximum: 5 }] }),
        await ended(cluster, { kind: 'cluster.hibernate', spec: { hibernated: true } }),
        await ended(cluster, { kind: 'cluster.resume', spec: { hibernated: false } }),
        await ended(cluster, { pools: [{ ...pinned, maximum: 5 }, { name: 'second' }] }),
      ];
      const { phase, ...row } = await untilRow(at, cluster.id, ({ due_at }) => due_at === null);

      expect(ends.map(({ state, error }) => [state, error])).toEqual(ends.map(() => ['succeeded', {}]));
      const { workers } = (await specOf(cluster)).provider;
      expect(workers.map(({ maximum, machine }) => [maximum, machine.image])).toEqual([
        [5, { name: 'ubuntu', version: '24.4.1' }],
        [3, { name: 'ubuntu', version: '24.4.1' }],
      ]);
      const told =
        'Another manager changed fields that are declared here: image.version of node pool general is 24.4.1 instead of 24.4.0 (gardener-controller-manager).';
      expect([reconciledOf(raised), phase, reconciledOf(row)]).toEqual([told, 'Ready', told]);
    });

    it('is set back by the next declaration while the declared image is offered', async () => {
      const pinned = { name: 'general', image: { name: 'gardenlinux', version: '1592.14.0' } };
      const cluster = await ready({ pools: [pinned] });
      const [namespace, name] = await at.placeOf(cluster);
      const [first] = (await specOf(cluster)).provider.workers;
      const image = { name: 'gardenlinux', version: '1877.5.0' };
      at.cloud.admin.garden.editShoot(namespace, name, {
        patch: { spec: { provider: { workers: [{ ...first, machine: { ...first?.machine, image } }] } } },
      });

      const end = await ended(cluster, { pools: [{ ...pinned, maximum: 5 }] });

      expect(end).toMatchObject({ state: 'succeeded' });
      expect((await specOf(cluster)).provider.workers[0]?.machine.image).toEqual(pinned.image);
    });
  });

  it('is no obstacle to clusters whose machine type, version, region or first zone it no longer offers', async () => {
    const all = await Promise.all(
      [
        { pools: [{ name: 'general' }] },
        { pools: [{ name: 'general', machineType: 'cax21' }] },
        { spec: { kubernetesVersion: '1.33.6' } },
        { spec: { kubernetesVersion: '1.32' } },
        { spec: { region: 'nbg1' } },
        { spec: { region: 'sin' } },
      ].map(async (declared: Declared) => {
        const { team, connectionId } = await at.addConnectionOfTeam();
        return {
          pool: declared.pools?.[0] ?? { name: 'general' },
          ...(await at.declare(team, connectionId, declared)),
        };
      }),
    );
    reconciler = await at.start();
    for (const { id } of all) await reconciler.wake(id);
    for (const { operationId } of all) expect(await untilEnded(at, operationId)).toMatchObject({ state: 'succeeded' });
    const machines = async (cluster: TestCluster) =>
      (await specOf(cluster)).provider.workers.map((worker) => worker.machine);
    const before = await Promise.all(all.map(machines));

    const { garden } = at.cloud.admin;
    garden.patchCloudProfile({
      machineTypes: offered.machineTypes.filter(({ name }) => name !== 'cax21'),
      regions: [
        { name: 'fsn1', zones: [{ name: 'fsn1-dc14' }] },
        { name: 'sin', zones: [{ name: 'sin-dc2' }, { name: 'sin-dc1' }] },
      ],
    });
    garden.expire({ machineType: 'cpx31' });
    garden.expire({ kubernetesVersion: '1.33.6' });
    garden.expire({ kubernetesVersion: '1.32.11' });
    await reconciler.stop();
    reconciler = await at.start();
    const scaled = await Promise.all(all.map((each) => ended(each, { pools: [{ ...each.pool, maximum: 5 }] })));
    const asleep = await Promise.all(
      all.map((each) => ended(each, { kind: 'cluster.hibernate', spec: { hibernated: true } })),
    );

    expect(scaled.map(({ state, error }) => [state, error])).toEqual(all.map(() => ['succeeded', {}]));
    expect(asleep.map(({ state }) => state)).toEqual(all.map(() => 'succeeded'));
    expect(await Promise.all(all.map(machines))).toEqual(before);
  });
});
