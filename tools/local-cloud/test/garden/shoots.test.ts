import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import type { ShootFault } from '../../src/garden/gardenlet/shoot-faults.js';
import { startTestCloud, type TestCloud } from '../start-test-cloud.js';
import { aShoot, NAMESPACE } from './a-shoot.js';
import { gardenClient } from './garden-client.js';
import {
  aBinding,
  aProject,
  aSecret,
  hasState,
  isHealthy,
  SHOOTS,
  startTestGarden,
  type TestGarden,
} from './start-test-garden.js';

describe('shoots', () => {
  let garden: TestGarden;

  beforeAll(async () => {
    garden = await startTestGarden();
  });

  afterAll(() => garden.stop());

  describe('a Shoot', () => {
    it('is created through Processing and becomes healthy', async () => {
      const { body } = await garden.call('GET', SHOOTS);
      const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

      const created = await garden.apply(aShoot({ name: 'created' }));
      const shoot = await garden.waitForShoot('created', 'healthy', isHealthy);
      stream.stop();

      const states = stream.events.map(({ object }) => object.status.lastOperation?.state ?? 'none');
      const progress = stream.events.map(({ object }) => object.status.lastOperation?.progress ?? -1);
      expect([...new Set(states)]).toEqual(['none', 'Processing', 'Succeeded']);
      expect(progress).toEqual([...progress].sort((a, b) => a - b));
      expect([created.status, created.body.metadata.generation, shoot.metadata.generation]).toEqual([201, 1, 2]);
      expect(shoot).toMatchObject({
        metadata: { finalizers: ['gardener'] },
        spec: { seedName: 'seed-eu' },
        status: {
          technicalID: 'shoot--acme--created',
          uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
          seedName: 'seed-eu',
          observedGeneration: 2,
          hibernated: false,
          lastOperation: { type: 'Create', state: 'Succeeded', progress: 100 },
          advertisedAddresses: [{ name: 'external' }, { name: 'internal' }],
        },
      });
      expect(shoot.status.conditions.map(({ status }: { status: string }) => status)).toEqual(Array(5).fill('True'));
    });

    it('hibernates and resumes on request', async () => {
      await garden.createReady({ name: 'sleepy' });

      await garden.patch('sleepy', { spec: { hibernation: { enabled: true } } });
      const asleep = await garden.waitForShoot(
        'sleepy',
        'asleep',
        (shoot) => shoot.status.hibernated && isHealthy(shoot),
      );
      await garden.patch('sleepy', { spec: { hibernation: { enabled: false } } });
      const awake = await garden.waitForShoot(
        'sleepy',
        'awake',
        (shoot) => !shoot.status.hibernated && isHealthy(shoot),
      );

      expect(asleep.status.lastOperation.type).toBe('Reconcile');
      expect(asleep.status.conditions[0]).toMatchObject({ status: 'True', reason: 'ConditionNotChecked' });
      expect(asleep.status.constraints[0]).toMatchObject({ status: 'True', reason: 'ConstraintNotChecked' });
      expect(awake.status.conditions[0].reason).toBe('HealthzRequestSucceeded');
    });

    it('is deleted only after a confirmation, and exists until its flow ends', async () => {
      const { metadata } = await garden.createReady({ name: 'leaving' });
      const path = `${SHOOTS}/leaving`;

      const unconfirmed = await garden.call('DELETE', path);
      await garden.patch('leaving', { metadata: { annotations: { 'confirmation.gardener.cloud/deletion': 'true' } } });
      const wrongUid = await garden.call('DELETE', path, { preconditions: { uid: 'another' } });
      const deleted = await garden.call('DELETE', path, { preconditions: { uid: metadata.uid } });
      const again = await garden.call('DELETE', path);
      const edited = await garden.patch('leaving', { spec: { purpose: 'testing' } });

      expect([unconfirmed.status, wrongUid.status, deleted.status, again.status, edited.status]).toEqual([
        403, 409, 200, 200, 422,
      ]);
      expect(unconfirmed.body.message).toBe(
        'shoots.core.gardener.cloud "leaving" is forbidden: must have a "confirmation.gardener.cloud/deletion" annotation to delete',
      );
      expect(deleted.body.metadata).toMatchObject({ deletionTimestamp: expect.any(String), generation: 3 });
      expect(again.body.metadata.deletionTimestamp).toBe(deleted.body.metadata.deletionTimestamp);
      await garden.waitForShoot('leaving', 'gone', ({ code }) => code === 404);
    });

    it('edited during a flow is reconciled once more, with the latest spec', async () => {
      await garden.createReady({ name: 'edited' });
      await garden.patch('edited', { spec: { purpose: 'testing' } });
      await garden.waitForShoot('edited', 'at work', hasState('Processing'));

      await garden.patch('edited', { spec: { purpose: 'development' } });
      const { body } = await garden.patch('edited', { spec: { purpose: 'production' } });
      const shoot = await garden.waitForShoot('edited', 'healthy', isHealthy);

      expect(shoot.status.observedGeneration).toBe(body.metadata.generation);
    });
  });
});

describe('gardenlet', () => {
  let garden: TestGarden;

  beforeAll(async () => {
    garden = await startTestGarden({}, { projectTokens: ['fresh-token'] });
  });

  afterEach(() => garden.cloud.admin.garden.clearShootFaults());

  afterAll(() => garden.stop());

  // biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
  type Part = any;

  const fail = (name: string, effect: ShootFault['effect'], times: number | null = 1) =>
    garden.cloud.admin.garden.addShootFaults({ namespace: NAMESPACE, name, times, effect });

  const annotate = (name: string, operation: string) =>
    garden.patch(name, { metadata: { annotations: { 'gardener.cloud/operation': operation } } });

  describe('a failing flow', () => {
    it.each([
      ['ERR_INFRA_UNAUTHENTICATED', 'Failed'],
      ['ERR_INFRA_UNAUTHORIZED', 'Failed'],
      ['ERR_INFRA_QUOTA_EXCEEDED', 'Failed'],
      ['ERR_INFRA_RATE_LIMITS_EXCEEDED', 'Failed'],
      ['ERR_INFRA_DEPENDENCIES', 'Failed'],
      ['ERR_CONFIGURATION_PROBLEM', 'Failed'],
      ['ERR_PROBLEMATIC_WEBHOOK', 'Failed'],
      ['ERR_RETRYABLE_INFRA_DEPENDENCIES', 'Error'],
      ['ERR_INFRA_RESOURCES_DEPLETED', 'Error'],
      ['ERR_CLEANUP_CLUSTER_RESOURCES', 'Error'],
      ['ERR_RETRYABLE_CONFIGURATION_PROBLEM', 'Error'],
    ])('with %s ends in %s', async (code, state) => {
      const name = `f${code.length}${code.at(9)}${code.at(11)}`.toLowerCase().replace('_', 'x');
      fail(name, { codes: [code], message: 'said the provider' }, null);

      await garden.apply(aShoot({ name }));
      const shoot = await garden.waitForShoot(name, state, hasState(state, 'Create'));

      expect(shoot.status.lastErrors).toEqual([
        {
          codes: [code],
          description: expect.stringContaining('said the provider'),
          taskID: 'Waiting until shoot worker nodes have been reconciled',
          lastUpdateTime: expect.any(String),
        },
      ]);
      expect(shoot.status.lastOperation.progress).toBeLessThan(100);
      await garden.cloud.admin.garden.vanishShoot(NAMESPACE, name);
    });

    it('without a code is retried automatically, and keeps its errors until it succeeds', async () => {
      fail('uncoded', { message: 'error during placement (resource_unavailable)' });
      const { body } = await garden.call('GET', SHOOTS);
      const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

      await garden.apply(aShoot({ name: 'uncoded' }));
      const shoot = await garden.waitForShoot('uncoded', 'healthy', isHealthy);
      stream.stop();

      const statuses = stream.events.map(({ object }) => object.status);
      const failed = statuses.findIndex(({ lastOperation }) => lastOperation?.state === 'Error');
      const [again] = statuses.slice(failed + 1);
      expect(again).toMatchObject({
        lastOperation: { state: 'Processing', progress: 0 },
        lastErrors: [{ taskID: expect.any(String) }],
      });
      expect(again.retryCycleStartTime).toBe(statuses[failed].retryCycleStartTime);
      expect(again.lastErrors[0].codes).toBeUndefined();
      expect(shoot.status.lastErrors).toBeUndefined();
    });

    it('is retried on `retry`, but only in state Failed', async () => {
      const { metadata } = await garden.createReady({ name: 'retried' });
      const idle = await annotate('retried', 'retry');
      fail('retried', { codes: ['ERR_INFRA_QUOTA_EXCEEDED'] });
      await garden.patch('retried', {
        metadata: { annotations: { 'gardener.cloud/operation': null } },
        spec: { purpose: 'testing' },
      });
      const failed = await garden.waitForShoot('retried', 'failed', hasState('Failed', 'Reconcile'));

      const reconcile = await annotate('retried', 'reconcile');
      const retry = await annotate('retried', 'retry');
      await garden.waitForShoot('retried', 'healthy', isHealthy);

      expect([idle.body.metadata.generation, idle.body.metadata.annotations['gardener.cloud/operation']]).toEqual([
        metadata.generation,
        'retry',
      ]);
      expect([
        reconcile.body.metadata.generation,
        reconcile.body.metadata.annotations['gardener.cloud/operation'],
      ]).toEqual([failed.metadata.generation, 'reconcile']);
      expect(retry.body.metadata.generation).toBe(failed.metadata.generation + 1);
      expect(retry.body.metadata.annotations['gardener.cloud/operation']).toBeUndefined();
    });
  });

  describe('a stuck flow', () => {
    it('stays Processing until the fault is cleared', async () => {
      fail('halted', { stuck: true });
      await garden.apply(aShoot({ name: 'halted' }));
      const halted = await garden.waitForShoot(
        'halted',
        'half-way',
        ({ status }) => status.lastOperation?.progress > 30,
      );
      garden.cloud.admin.advanceClock(60_000);

      const still = await garden.readShoot('halted');
      garden.cloud.admin.garden.clearShootFaults();

      expect(still.status.lastOperation).toEqual(halted.status.lastOperation);
      await garden.waitForShoot('halted', 'healthy', isHealthy);
    });
  });

  describe('the provider token of a Shoot', () => {
    const useToken = async (name: string, token: string) => {
      await garden.apply(aSecret(name, token));
      await garden.apply(aBinding(name));
      return { spec: { credentialsBindingName: name } };
    };

    it('is verified at the provider: an unknown one fails the flow', async () => {
      await garden.apply(aShoot({ name: 'unknown', ...(await useToken('bad', 'never-heard-of')) }));

      const shoot = await garden.waitForShoot('unknown', 'failed', hasState('Failed'));

      expect(shoot.status.lastErrors[0]).toMatchObject({
        codes: ['ERR_INFRA_UNAUTHENTICATED'],
        taskID: 'Waiting until shoot infrastructure has been reconciled',
      });
    });

    it('determines the project in which the nodes are servers, even after it is rejected', async () => {
      garden.cloud.admin.addProjectToken('maker');
      garden.cloud.admin.addProjectToken('other');
      await garden.createReady({ name: 'seen', ...(await useToken('sees', 'maker')) });
      garden.cloud.admin.addProjectToken('second', { sameProjectAs: 'maker' });
      const selector = new URLSearchParams({
        label_selector: 'mcm.gardener.cloud/cluster in (none,shoot--acme--seen)',
      });
      const serversOf = async (token: string) =>
        (await garden.cloud.call('GET', `/servers?${selector}`, undefined, { Authorization: `Bearer ${token}` })).body
          .servers as Part[];
      const names = async (token: string) => (await serversOf(token)).map(({ name }) => name);

      const [node] = await serversOf('maker');
      garden.cloud.admin.rejectToken('maker');

      expect(node.name).toMatch(/^shoot--acme--seen-/);
      expect(await names('second')).toContain(node.name);
      expect(await names('other')).toEqual([]);
    });
  });

  describe('a control plane migration', () => {
    it('runs Migrate, leaves the Shoot without a seed, and runs Restore', async () => {
      await garden.createReady({ name: 'migrant' });
      const { body } = await garden.call('GET', SHOOTS);
      const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

      garden.cloud.admin.garden.migrateShoot(NAMESPACE, 'migrant');
      const restored = await garden.waitForShoot(
        'migrant',
        'restored',
        (shoot) => hasState('Succeeded', 'Restore')(shoot) && isHealthy(shoot),
      );
      stream.stop();

      const steps = stream.events.map(({ object: { spec, status } }) =>
        [spec.seedName, status.seedName ?? null, status.lastOperation.type, status.lastOperation.state].join(' '),
      );
      expect([...new Set(steps)]).toEqual([
        'seed-eu-2 seed-eu Create Succeeded',
        'seed-eu-2 seed-eu Migrate Processing',
        'seed-eu-2  Migrate Succeeded',
        'seed-eu-2 seed-eu-2 Restore Processing',
        'seed-eu-2 seed-eu-2 Restore Succeeded',
      ]);
      expect(stream.events.some(({ object }) => object.status.migrationStartTime !== undefined)).toBe(true);
      expect(restored.status.migrationStartTime).toBeUndefined();
    });
  });
});

describe('projects', () => {
  let garden: TestGarden;

  beforeAll(async () => {
    garden = await startTestGarden();
  });

  afterAll(() => garden.stop());

  const PROJECTS = '/apis/core.gardener.cloud/v1beta1/projects';

  const read = async (name: string) => (await garden.call('GET', `${PROJECTS}/${name}`)).body;

  const untilReady = (name: string) =>
    waitFor(`${name} to be Ready`, async () => {
      const project = await read(name);
      return project.status?.phase === 'Ready' && project;
    });

  describe('a Project', () => {
    it('gets an unpredictable namespace', async () => {
      const { status, body } = await garden.apply({ ...aProject('globex'), spec: {} });

      const ready = await untilReady('globex');
      const namespace = await garden.call('GET', `/api/v1/namespaces/${ready.spec.namespace}`);

      expect([status, body.spec.namespace, body.status]).toEqual([201, undefined, undefined]);
      expect(ready.spec.namespace).toMatch(/^garden-globex-[0-9a-f]{5}$/);
      expect(namespace.body.metadata.labels).toMatchObject({
        'gardener.cloud/role': 'project',
        'project.gardener.cloud/name': 'globex',
      });
    });

    it('adopts a namespace with its own label, and no other', async () => {
      const labels = { 'gardener.cloud/role': 'project', 'project.gardener.cloud/name': 'mine' };
      const make = (name: string, labelled: object) =>
        garden.call('POST', '/api/v1/namespaces', { metadata: { name, labels: labelled } });
      await make('garden-mine', labels);
      await make('garden-theirs', {});

      await garden.apply(aProject('mine'));
      await garden.apply(aProject('theirs'));

      await untilReady('mine');
      await waitFor('theirs to have failed', async () => (await read('theirs')).status?.phase === 'Failed');
    });

    it.each([
      [aProject('elevenchars'), 'must not exceed 10 characters'],
      [aProject('a--b'), 'two consecutive hyphens'],
      [aProject('short', 'elsewhere'), 'must start with garden-'],
    ])('%j is invalid', async (project, message) => {
      const { status, body } = await garden.apply(project);

      expect([status, body.message]).toEqual([422, expect.stringContaining(message)]);
    });
  });
});

describe('restart', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'garden-'));
  });

  afterEach(() => rmSync(dataDir, { recursive: true }));

  /** Runs `work` on a new garden with the data folder and stops it. */
  async function first<T>(work: (garden: TestGarden) => Promise<T>, garden = {}): Promise<T> {
    const started = await startTestGarden(garden, { dataDir });
    try {
      return await work(started);
    } finally {
      await started.stop();
    }
  }

  /** Runs `work` on the garden that the data folder holds. */
  async function again<T>(work: (cloud: TestCloud, client: ReturnType<typeof gardenClient>) => Promise<T>): Promise<T> {
    const cloud = await startTestCloud({ dataDir, garden: { createMs: 40, reconcileMs: 40, deleteMs: 40 } });
    const client = gardenClient(cloud.gardenKubeconfig);
    try {
      return await work(cloud, client);
    } finally {
      client.close();
      await cloud.close();
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
  const timeless = ({ metadata: { resourceVersion: _, ...metadata }, status, ...rest }: any) => ({
    ...rest,
    metadata,
    status: { ...status, advertisedAddresses: null },
  });

  const everything = async ({ call }: Pick<TestGarden, 'call'>) => {
    const lists = ['/api/v1/secrets', '/api/v1/namespaces', '/apis/core.gardener.cloud/v1beta1/shoots'];
    return Promise.all(lists.map(async (path) => (await call('GET', path)).body));
  };

  describe('a restart', () => {
    it('keeps every object unchanged, the version, and the token and authority of the garden', async () => {
      const before = await first(async (garden) => {
        await garden.createReady();
        return { objects: await everything(garden), kubeconfig: new KubeConfig(), text: garden.cloud.gardenKubeconfig };
      });

      const after = await again(async (cloud, client) => ({
        objects: await everything(client),
        text: cloud.gardenKubeconfig,
      }));

      const withoutPort = (text: string) => text.replace(/127\.0\.0\.1:\d+/, '');
      const [secrets, namespaces, shoots] = after.objects;
      expect([secrets.items, namespaces.items]).toEqual([before.objects[0].items, before.objects[1].items]);
      // Without a fixed port the API servers of Shoots have other addresses after a restart.
      expect(timeless(shoots.items[0])).toEqual(timeless(before.objects[2].items[0]));
      expect(withoutPort(after.text)).toBe(withoutPort(before.text));
      expect(readFileSync(join(dataDir, 'garden.kubeconfig'), 'utf8')).toBe(after.text);
    });

    it('resumes flows', async () => {
      await first(
        async (garden) => {
          await garden.apply(aShoot());
          await garden.waitForShoot('web', 'half-way', ({ status }) => status.lastOperation?.progress > 30);
        },
        { createMs: 2000 },
      );

      await again(async (_cloud, client) => {
        const shoot = await waitFor('the Shoot to be healthy', async () => {
          const { body } = await client.call('GET', `${SHOOTS}/web`);
          return isHealthy(body) && body;
        });
        expect(shoot.status.lastOperation).toMatchObject({ type: 'Create', state: 'Succeeded' });
      });
    });

    it('starts a new history: an earlier watch gets 410 for its version', async () => {
      const version = await first(async (garden) => {
        const { body } = await garden.call('GET', SHOOTS);
        await garden.create(aShoot());
        return body.metadata.resourceVersion;
      });

      await again(async (_cloud, client) => {
        const stream = await client.watch(`${SHOOTS}?watch=1&resourceVersion=${version}`);
        await stream.ended;
        expect(stream.events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
      });
    });
  });
});
