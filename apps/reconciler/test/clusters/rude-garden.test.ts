import { type Log, type LogFields, silentLog } from '@corral/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

let at: Clusters;
let reconciler: Reconciler;
const errors: { message: string; fields: LogFields | undefined }[] = [];
beforeAll(async () => {
  at = await startClusters();
  const note = (message: string, fields?: LogFields) => void errors.push({ message, fields });
  const log: Log = { ...silentLog, error: note, child: () => log };
  reconciler = await at.start({ log });
});
afterEach(() => {
  at.cloud.admin.clearFaults();
  const plain = { startUp: 'over', shootsMax: null, secretsMax: null, undeclaredFields: [], admission: [] } as const;
  at.cloud.admin.garden.changeSettings(plain);
  at.cloud.admin.garden.setRights('reconciler', null);
});
afterAll(() => at.close());

async function declared(): Promise<TestCluster> {
  const { team, connectionId } = await at.addTeamWithConnection();
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
      const cluster = await declared();
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

describe('a Secret that the garden refuses', () => {
  it('says nothing about the token', async () => {
    const message = 'admission webhook "policy.example.org" denied the request: secrets need an owner';
    at.cloud.admin.addFaults({
      match: { api: 'garden', method: 'APPLY', path: '/secrets/' },
      effect: { status: 403, message },
    });
    const cluster = await declared();
    await reconciler.wake(cluster.id);

    const row = await untilRow(at, cluster.id, (each) => reconciledOf(each)?.reason === 'PlatformFault');
    await requestPass(cluster);
    const { state } = await untilEnded(at, cluster.operationId);

    expect(state).toBe('succeeded');
    expect(row.conditions.find(({ type }) => type === 'ConnectionReady')).toMatchObject({ status: 'True' });
  });
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
    const { team, connectionId } = await at.addTeamWithConnection();
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
    expect(row.conditions).toContainEqual(expect.objectContaining({ type: 'SpecAccepted', status: 'False', message }));
    expect(accepted).toMatchObject({ state: 'succeeded' });
  });

  it.each(['ensureProject', 'deleteShoot'])('keeps %s waiting, and tells in its words why', async (step) => {
    const cluster = await declared();
    let { operationId } = cluster;
    const message = 'not in December';
    const rule = { name: 'freeze', kind: 'webhook', message } as const;
    if (step === 'deleteShoot') {
      await reconciler.wake(cluster.id);
      await untilEnded(at, operationId);
      at.cloud.admin.garden.changeSettings({ admission: [{ ...rule, operations: ['DELETE'] }] });
      operationId = await at.requestDeletion(cluster);
    } else at.cloud.admin.garden.changeSettings({ admission: [{ ...rule, resource: 'projects' }] });
    await reconciler.wake(cluster.id);

    await untilRow(at, cluster.id, (each) => reconciledOf(each)?.reason === 'PolicyRefused');
    const { waiting } = await at.operation(operationId);
    at.cloud.admin.garden.changeSettings({ admission: [] });
    await requestPass(cluster);

    const what = step === 'deleteShoot' ? 'the deletion' : 'the Project of the team';
    expect(waiting).toMatchObject({
      reason: 'PolicyRefused',
      message: `The policy freeze of the garden refuses ${what}: not in December.`,
    });
    expect(await untilEnded(at, operationId)).toMatchObject({ state: 'succeeded' });
  });
});

describe('an admission webhook that does not answer', () => {
  it('keeps only the clusters of its namespace waiting, and is named', async () => {
    const { team, connectionId } = await at.addTeamWithConnection();
    const first = await at.declare(team, connectionId);
    await reconciler.wake(first.id);
    await untilEnded(at, first.operationId);
    const [namespace] = await at.placeOf(first);
    at.cloud.admin.garden.changeSettings({ admission: [{ name: 'own.example.org', kind: 'dead webhook', namespace }] });
    const blocked = await Promise.all([1, 2, 3, 4].map(() => at.declare(team, connectionId)));
    for (const { id } of blocked) await reconciler.wake(id);
    for (const { id } of blocked) await untilRow(at, id, ({ waiting }) => waiting?.reason === 'WebhookUnavailable');

    const other = await declared();
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

describe('a field that the garden does not support', () => {
  it('fails the change with its name, and does not affect other clusters', async () => {
    at.cloud.admin.garden.changeSettings({ undeclaredFields: ['spec.maintenance.confineSpecUpdateRollout'] });
    const refused = await Promise.all([declared(), declared(), declared(), declared()]);
    for (const { id } of refused) await reconciler.wake(id);

    for (const { operationId } of refused) {
      expect(await untilEnded(at, operationId)).toMatchObject({
        state: 'failed',
        error: {
          code: 'refused_by_garden',
          message: 'The specification was refused: see spec.maintenance.confineSpecUpdateRollout.',
        },
      });
    }
    const pauses = await reconciler.metrics.registry.getSingleMetric('corral_reconcile_pauses_total')?.get();
    const away = pauses?.values.find(({ labels }) => labels.reason === 'away');
    at.cloud.admin.garden.changeSettings({ undeclaredFields: [] });
    const other = await declared();
    await reconciler.wake(other.id);

    expect(away?.value).toBe(0);
    expect(await untilEnded(at, other.operationId)).toMatchObject({ state: 'succeeded' });
  });
});
