import { asOperationId } from '@corral/contracts';
import type { FieldManager, Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import {
  aDesired,
  aManager,
  aPool,
  aShoot,
  aSteadyDesired,
  minutesLater,
  noon,
  ourHold,
  present,
  settings,
} from '../../../test/support/a-cluster.js';
import { decide } from '../decide/decide.js';
import { judge } from '../judge/judge.js';
import type { Desired } from '../model.js';
import { factsOf } from '../observe.js';
import { renderShoot } from '../render.js';
import { apiFieldOf, driftOf, driftSentence } from './drift.js';
import { arbitrate, leftovers, outdatedAdditions, withoutFields } from './field-owners.js';

/** The field of a path as managers own it: `{ 'f:spec': { 'f:region': {} } }` */
const owned = (path: string): Record<string, unknown> =>
  path.split('.').reduceRight<Record<string, unknown>>((inner, part) => ({ [`f:${part}`]: inner }), {});

/** Fields of a worker as managers own them. */
const inWorker = (fields: object, name = 'p1a2b3') => ({
  'f:spec': { 'f:provider': { 'f:workers': { [`k:{"name":"${name}"}`]: fields } } },
});
const workersOf = (desired: Desired) => (aShoot(desired).spec.provider as { workers: { machine: object }[] }).workers;

describe('drift', () => {
  const pools = [aPool({ image: { name: 'ubuntu', version: '24.4' } })];
  const desired = aSteadyDesired({ pools });
  const workerOf = (more: object) => ({ provider: { workers: [{ ...workersOf(desired)[0], ...more }] } });
  const edited = (spec: object, fields: Record<string, unknown>, more: object = {}) =>
    aShoot(desired, {
      generation: 2,
      observedGeneration: 2,
      spec: spec as Record<string, unknown>,
      managers: [ourHold, aManager('kubectl-edit', fields, minutesLater(3))],
      ...more,
    });
  const scaled = edited(workerOf({ maximum: 9 }), inWorker({ 'f:maximum': {} }));

  const inNetworks = owned('spec.provider.infrastructureConfig.networks.existingNetwork');
  const intoNetwork = (existingNetwork: string) => {
    const { provider } = aShoot(desired).spec as { provider: { infrastructureConfig: { networks: object } } };
    const networks = { ...provider.infrastructureConfig.networks, existingNetwork };
    return { provider: { ...provider, infrastructureConfig: { ...provider.infrastructureConfig, networks } } };
  };

  const machine = (more: object) =>
    workerOf({ machine: { type: 'cpx31', image: { name: 'ubuntu', version: '24.4.0' }, ...more } });
  const autoUpdate = { kubernetesVersion: false, machineImageVersion: false };
  const unpublished = workerOf({ providerConfig: { publicIP: false } });
  const cases: [field: string, values: string, spec: object, fields: Record<string, unknown>][] = [
    [
      'publicIP of node pool general',
      ' is false instead of true',
      unpublished,
      inWorker(owned('providerConfig.publicIP')),
    ],
    ['network.existingNetwork', ' is theirs instead of absent', intoNetwork('theirs'), inNetworks],
    ['hibernated', ' is true instead of false', { hibernation: { enabled: true } }, owned('spec.hibernation.enabled')],
    ['maximum of node pool general', ' is 9 instead of 3', workerOf({ maximum: 9 }), inWorker(owned('maximum'))],
    ['minimum of node pool general', ' is 2 instead of 1', workerOf({ minimum: 2 }), inWorker(owned('minimum'))],
    [
      'machineType of node pool general',
      ' is cpx51 instead of cpx31',
      machine({ type: 'cpx51' }),
      inWorker(owned('machine.type')),
    ],
    [
      'image.version of node pool general',
      ' is 24.10.0 instead of 24.4',
      machine({ image: { name: 'ubuntu', version: '24.10.0' } }),
      inWorker(owned('machine.image.version')),
    ],
    [
      'spec.maintenance.confineSpecUpdateRollout',
      ' is true instead of false',
      { maintenance: { autoUpdate, confineSpecUpdateRollout: true } },
      owned('spec.maintenance.confineSpecUpdateRollout'),
    ],
    ['connectionRef', '', { credentialsBindingName: 'theirs' }, owned('spec.credentialsBindingName')],
  ];

  describe('a declared field that another manager changed', () => {
    it.each(cases)('is reported with its manager and left as it is: %s%s', (field, values, spec, fields) => {
      const shoot = edited(spec, fields);

      const verdict = judge(desired, present(shoot), minutesLater(9));

      expect(driftOf(desired, factsOf(shoot)).map((each) => [each.field.name, each.manager])).toEqual([
        [field, 'kubectl-edit'],
      ]);
      expect(decide(desired, present(shoot), minutesLater(9))).toEqual({ do: 'finish' });
      expect(verdict.conditions).toContainEqual(
        expect.objectContaining({
          type: 'Reconciled',
          status: 'False',
          reason: 'Drifted',
          message: `Another manager changed fields that are declared here: ${field}${values} (kubectl-edit).`,
        }),
      );
      expect(verdict.phase).not.toBe('Ready');
      expect(verdict).toMatchObject({ operation: { to: 'stay' }, nextPassMs: null });
    });

    it('is reported for image options as well', () => {
      const wanting = aSteadyDesired({ pools: [aPool({ image: { name: 'ubuntu', hugePages: 2 } })] });
      const [worker] = workersOf(wanting);
      const machine = { ...worker?.machine, image: { name: 'ubuntu', providerConfig: { hugePages: 4 } } };
      const fields = inWorker(owned('machine.image.providerConfig.hugePages'));
      const shoot = edited({ provider: { workers: [{ ...worker, machine }] } }, fields);

      expect(driftSentence(driftOf(wanting, factsOf(shoot)))).toBe(
        'Another manager changed fields that are declared here: image of node pool general is hugePages=4 instead of hugePages=2 (kubectl-edit).',
      );
    });

    it('is reported with its most recent manager', () => {
      const managers = [aManager('earlier', inWorker({ 'f:maximum': {} }), minutesLater(1)), ...scaled.managers];

      expect(driftOf(desired, factsOf({ ...scaled, managers }))).toMatchObject([{ manager: 'kubectl-edit' }]);
    });

    it('is not drift when it only completes an image version', () => {
      const shoot = edited(
        machine({ image: { name: 'ubuntu', version: '24.4.20261101' } }),
        inWorker(owned('machine.image.version')),
      );

      expect(driftOf(desired, factsOf(shoot))).toEqual([]);
    });

    it('is reverted when no manager owns it, or after a restore lost the managers', () => {
      const lost = { ...scaled, managers: [ourHold] };
      const restored = { ...aShoot(desired), managers: [aManager('gardenlet', { 'f:status': {} })] };

      expect(decide(desired, present(lost), minutesLater(9))).toEqual({ do: 'applyShoot' });
      expect(decide(desired, present(restored), minutesLater(9))).toEqual({ do: 'applyShoot' });
    });

    it.each(['corral.dev/plan', 'corral.dev/team'])(
      'is reverted when it is an annotation of Corral: %s',
      (annotation) => {
        const fields = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } };
        const managers = [ourHold, aManager('kubectl', fields)];
        const shoot = aShoot(desired, { annotations: { [annotation]: 'theirs' }, managers });

        expect(decide(desired, present(shoot), minutesLater(9))).toEqual({ do: 'applyShoot' });
      },
    );
  });

  describe('a pool that another manager added', () => {
    const theirs = { name: 'batch', machine: { type: 'cpx51' }, minimum: 1, maximum: 3 };
    const [rendered] = workersOf(desired);
    const withPool = (managers: FieldManager[]) =>
      aShoot(desired, {
        generation: 2,
        observedGeneration: 2,
        spec: { provider: { workers: [rendered, theirs] } },
        managers: [ourHold, ...managers],
      });
    const added = withPool([
      aManager('gardener-controller-manager', inWorker({ 'f:machine': {} }, 'batch'), minutesLater(4)),
      aManager('kubectl-edit', inWorker({ '.': {}, 'f:name': {}, 'f:maximum': {} }, 'batch'), minutesLater(3)),
    ]);
    const message = 'Another manager added fields that are not declared here: node pool batch (kubectl-edit).';

    it('is reported as undeclared with its manager, and left as it is', () => {
      const verdict = judge(desired, present(added), minutesLater(9));

      expect(decide(desired, present(added), minutesLater(9))).toEqual({ do: 'finish' });
      expect(verdict).toMatchObject({ phase: 'Degraded', nextPassMs: null });
      for (const [type, status, reason] of [
        ['Reconciled', 'False', 'Drifted'],
        ['Drifted', 'True', 'ChangedByOthers'],
      ]) {
        expect(verdict.conditions).toContainEqual(expect.objectContaining({ type, status, reason, message }));
      }
    });

    it('is reported separately from changed fields', () => {
      const changed = [{ ...rendered, maximum: 9 }, theirs];
      const shoot = {
        ...added,
        spec: { ...added.spec, provider: { workers: changed } },
        managers: [...added.managers, aManager('hpa', inWorker({ 'f:maximum': {} }))],
      };

      expect(driftSentence(driftOf(desired, factsOf(shoot)))).toBe(
        `Another manager changed fields that are declared here: maximum of node pool general is 9 instead of 3 (hpa). ${message}`,
      );
    });

    it('never blocks an operation', () => {
      const known = { ...desired.known, conditions: judge(desired, present(added), noon).conditions };
      const changing = { ...desired, known, operation: anOperation(noon) };

      expect(judge(changing, present(added), minutesLater(30)).operation).toEqual({ to: 'succeeded' });
    });

    it('is reported and left as it is when its manager is unknown', () => {
      const forgotten = withPool([]);

      expect(driftOf(desired, factsOf(forgotten))).toMatchObject([{ manager: null, kind: 'added' }]);
      expect(decide(desired, present(forgotten), minutesLater(9))).toEqual({ do: 'finish' });
    });

    it('leaves a hibernated cluster Hibernated', () => {
      const asleep = aSteadyDesired({ pools, spec: { hibernated: true } });
      const shoot = { ...aShoot(asleep, { hibernated: true }), managers: added.managers };
      const workers = [...(shoot.spec.provider as { workers: object[] }).workers, theirs];

      const verdict = judge(asleep, present({ ...shoot, spec: { ...shoot.spec, provider: { workers } } }), noon);

      expect(verdict.phase).toBe('Hibernated');
    });
  });

  describe('a Kubernetes version that the garden raised', () => {
    const expired = aSteadyDesired({ spec: { kubernetesVersion: '1.33' }, pinnedVersion: '1.34.3' });
    const shoot = aShoot(expired, {
      managers: [
        ourHold,
        aManager('gardener-controller-manager', { 'f:spec': { 'f:kubernetes': { 'f:version': {} } } }),
      ],
    });

    it('beyond the declaration is reported but blocks no operation, since downgrades are impossible', () => {
      const running = { ...expired, operation: anOperation(noon) };

      const verdict = judge(running, present(shoot), minutesLater(9));

      expect(verdict).toMatchObject({ phase: 'Ready', operation: { to: 'succeeded' } });
      expect(verdict.conditions.find(({ type }) => type === 'Reconciled')).toMatchObject({
        status: 'False',
        reason: 'Drifted',
        message:
          'Another manager changed fields that are declared here: kubernetesVersion is 1.34.3 instead of 1.33 (gardener-controller-manager).',
      });
    });

    it('within the declaration is not drift', () => {
      const raised = aShoot(aSteadyDesired(), { generation: 2, spec: { kubernetes: { version: '1.34.9' } } });

      expect(driftOf(aSteadyDesired(), factsOf(raised))).toEqual([]);
    });
  });

  const anOperation = (acceptedAt: Date) => ({
    id: asOperationId('o1'),
    kind: 'cluster.update' as const,
    generation: 1,
    state: 'running' as const,
    progress: 0,
    acceptedAt,
  });

  describe('an operation blocked by another manager', () => {
    const first = judge(desired, present(scaled), noon);
    const known = { ...desired.known, conditions: first.conditions };
    const after = (minutes: number, acceptedAt = noon) =>
      judge({ ...desired, known, operation: anOperation(acceptedAt) }, present(scaled), minutesLater(minutes))
        .operation;

    it('runs for ten minutes, then fails with the field and its manager', () => {
      expect(after(9)).toMatchObject({ to: 'running' });
      expect(after(10)).toEqual({
        to: 'failed',
        code: 'field_conflict',
        message:
          'Another manager changed fields that are declared here: maximum of node pool general is 9 instead of 3 (kubectl-edit).',
      });
    });

    it('gets ten minutes from its start, however old the conflict is', () => {
      expect(after(70, minutesLater(61))).toMatchObject({ to: 'running' });
    });

    it('does not fail when it is a deletion', () => {
      const going = { ...aDesired(), ...desired, known, isDeleting: true, operation: anOperation(noon) };

      expect(judge(going, present(scaled), minutesLater(30)).operation).toMatchObject({ to: 'running' });
    });
  });
});

describe('owners of fields', () => {
  const MAXIMUM = '.spec.provider.workers[name="p1a2b3"].maximum';
  const desired = aDesired({ declaredAt: minutesLater(10) });
  const readWith = (
    manager: string,
    fields: Record<string, unknown>,
    time: Date,
    at: Date | null = minutesLater(20),
  ) => ({
    shoot: aShoot(aSteadyDesired(), { managers: [aManager(manager, fields, time)] }),
    at,
  });
  const arbitrated = (read: ReturnType<typeof readWith>, field = MAXIMUM, wanted: Desired = desired) =>
    arbitrate(wanted, read, [{ field, manager: null }], minutesLater(20));

  describe('a field that another manager changed', () => {
    const maximum = inWorker({ 'f:maximum': {} });
    const scaledAt = (time: Date, at?: Date | null) => readWith('kubectl-edit', maximum, time, at);
    const hourBehind = (minutes: number) => minutesLater(minutes - 60);
    const ofCorral = (fields: Record<string, unknown>) => readWith('kubectl', fields, minutesLater(15));
    const ourLabel = '.spec.provider.workers[name="p1a2b3"].labels.corral.dev/pool';
    const taken = { overridden: [{ field: 'maximum of node pool general', manager: 'kubectl-edit' }], kept: [] };
    const kept = { overridden: [], kept: [MAXIMUM] };
    const reverted = { overridden: [expect.anything()], kept: [] };

    it.each<[string, ReturnType<typeof arbitrated>, object]>([
      ['taken over when it is older than the declaration', arbitrated(scaledAt(minutesLater(9))), taken],
      ['kept when it is newer', arbitrated(scaledAt(minutesLater(11))), kept],
      ['taken over by the garden’s clock', arbitrated(scaledAt(hourBehind(9), hourBehind(20))), taken],
      ['kept by the garden’s clock', arbitrated(scaledAt(hourBehind(11), hourBehind(20))), kept],
      [
        'kept when the time of the declaration is unknown',
        arbitrated(scaledAt(noon), MAXIMUM, { ...desired, declaredAt: null }),
        kept,
      ],
      [
        'always reverted when it is an annotation of Corral',
        arbitrated(
          ofCorral({ 'f:metadata': { 'f:annotations': { 'f:corral.dev/plan': {} } } }),
          '.metadata.annotations.corral.dev/plan',
        ),
        reverted,
      ],
      [
        'always reverted when it is a label of a pool of Corral',
        arbitrated(ofCorral(inWorker({ 'f:labels': { 'f:corral.dev/pool': {} } })), ourLabel),
        reverted,
      ],
      [
        'neither when no manager owns it',
        arbitrated(readWith('before-first-apply', maximum, minutesLater(15))),
        { overridden: [], kept: [] },
      ],
    ])('is %s', (_what, outcome, expected) => {
      expect(outcome).toEqual(expected);
    });

    it('shows only printable characters of a manager’s name, at most 64', () => {
      const odd = readWith(`a\u202eb\n${'x'.repeat(99)}`, maximum, noon);

      const [{ manager } = { manager: '' }] = arbitrated(odd).overridden;

      expect(manager).toMatch(/^a\?b\?x+…$/);
      expect(manager.length).toBe(64);
    });
  });

  it('a manifest with fields removed lacks exactly these fields', () => {
    const manifest = renderShoot(desired, settings);
    const reduced = withoutFields(manifest, [MAXIMUM, '.spec.hibernation.enabled', '.spec.nothing.there']);

    const [pool] = (reduced.spec.provider as { workers: Record<string, unknown>[] }).workers;
    const [whole] = (manifest.spec.provider as { workers: Record<string, unknown>[] }).workers;
    const { maximum: _, ...rest } = whole as Record<string, unknown>;
    expect(pool).toEqual(rest);
    expect(reduced.spec.hibernation).toEqual({});
    expect(reduced.metadata).toEqual(manifest.metadata);
    expect(manifest.spec.hibernation).toEqual({ enabled: false });
  });

  describe('a pool that is no longer declared', () => {
    const second = aPool({ name: 'more', workerName: 'p2' });
    const both = aSteadyDesired({ pools: [aPool(), second] });
    const holdOf = (name: string) => inWorker({ 'f:maximum': {} }, name);

    it('is removed explicitly when another manager owns a field in it', () => {
      const shoot = aShoot(both, { managers: [ourHold, aManager('kubectl', holdOf('p2'))] });

      const found = leftovers({ shoot }, ['p1a2b3']);

      expect(found?.removed).toEqual([{ field: 'node pool more', manager: 'kubectl' }]);
      expect(found?.workers).toEqual([expect.objectContaining({ name: 'p1a2b3' })]);
    });

    it.each([
      ['the owned fields are unknown', []],
      ['it existed before the first apply', [ourHold, aManager('before-first-apply', holdOf('p2'))]],
    ])('is removed explicitly after a restore when %s', (_, managers) => {
      expect(leftovers({ shoot: aShoot(both, { managers }) }, ['p1a2b3'])).toEqual({
        workers: [expect.objectContaining({ name: 'p1a2b3' })],
        removed: [],
      });
    });

    it('is removed by the apply when Corral owns all of it, and kept when it never did', () => {
      const theirs = { provider: { workers: [{ name: 'p2', maximum: 3 }] } };

      expect(leftovers({ shoot: aShoot(both) }, ['p1a2b3'])).toBeNull();
      expect(
        leftovers({ shoot: aShoot(both, { spec: theirs, managers: [aManager('kubectl', holdOf('p2'))] }) }, []),
      ).toBeNull();
    });
  });

  describe('a pool that another manager added', () => {
    const theirs = { name: 'batch', maximum: 3 };
    const fields = inWorker({ '.': {}, 'f:name': {} }, 'batch');
    const steady = aSteadyDesired();
    const [ours] = workersOf(steady);
    const withPool = (managers: FieldManager[], pool: object = theirs) =>
      aShoot(steady, { spec: { provider: { workers: [ours, pool] } }, managers: [ourHold, ...managers] });
    const addedAt = (time: Date) => withPool([aManager('kubectl-edit', fields, time)]);
    const outdated = (shoot: Shoot, more: Partial<Desired> = {}, at: Date | null = minutesLater(20)) =>
      outdatedAdditions({ ...steady, ...more }, { shoot, at }, ['p1a2b3'], minutesLater(20));
    const declared = { generation: 2, declaredAt: minutesLater(10), poolsDeclaredAt: minutesLater(10) };

    it('is removed when it is older than the pool declaration, and kept when newer', () => {
      expect(outdated(addedAt(minutesLater(9)), declared)).toEqual(['batch']);
      expect(outdated(addedAt(minutesLater(11)), declared)).toEqual([]);
    });

    it('is compared by the garden’s clock', () => {
      const ahead = (minutes: number) => minutesLater(minutes + 60);

      expect(outdated(addedAt(ahead(9)), declared, ahead(20))).toEqual(['batch']);
      expect(outdated(addedAt(ahead(11)), declared, ahead(20))).toEqual([]);
    });

    it('is kept when the declaration only hibernates or resumes the cluster', () => {
      const sleeping = { ...declared, poolsDeclaredAt: noon };

      expect(outdated(addedAt(minutesLater(9)), sleeping)).toEqual([]);
    });

    it('by an unknown manager is removed only with a new declaration of pools', () => {
      const forgotten = withPool([]);

      expect(outdated(forgotten, declared)).toEqual(['batch']);
      expect(outdated(forgotten, { ...declared, poolsDeclaredAt: noon })).toEqual([]);
      expect(outdated(forgotten)).toEqual([]);
    });

    it('is removed with an audit entry, and only when it is outdated', () => {
      const shoot = addedAt(noon);

      expect(leftovers({ shoot }, ['p1a2b3'], ['batch'])).toEqual({
        workers: [ours],
        removed: [{ field: 'node pool batch', manager: 'kubectl-edit' }],
      });
      expect(leftovers({ shoot: withPool([]) }, ['p1a2b3'], ['batch'])?.removed).toEqual([
        { field: 'node pool batch', manager: 'unknown' },
      ]);
      expect(leftovers({ shoot }, ['p1a2b3'])).toBeNull();
    });

    it('counts as foreign even when it copies a pool of Corral including the label', () => {
      const copy = withPool([aManager('kubectl-edit', fields, minutesLater(11))], {
        ...ours,
        name: 'batch',
      });

      expect(outdated(copy, declared)).toEqual([]);
      expect(leftovers({ shoot: copy }, ['p1a2b3'])).toBeNull();
    });
  });
});

describe('a Shoot field', () => {
  const desired = aDesired({
    pools: [
      aPool({ name: 'idle', workerName: 'p0', minimum: 0, maximum: 0 }),
      aPool({ name: 'general', workerName: 'p1' }),
      aPool({ name: 'gpu', workerName: 'p2' }),
    ],
  });

  it.each([
    ['spec.kubernetes.version', '/spec/kubernetesVersion', 'kubernetesVersion'],
    ['.spec.hibernation.enabled', '/spec/hibernated', 'hibernated'],
    ['spec.region', '/spec/region', 'region'],
    ['spec.credentialsBindingName', '/spec/connectionRef', 'connectionRef'],
    ['spec.controlPlane.highAvailability.failureTolerance.type', '/spec/controlPlaneHA', 'controlPlaneHA'],
    ['spec.networking.nodes', '/spec/network/nodeCIDR', 'network.nodeCIDR'],
    ['spec.provider.infrastructureConfig.networks', '/spec/network/nodeCIDR', 'network.nodeCIDR'],
    [
      'spec.provider.infrastructureConfig.networks.existingNetwork',
      '/spec/network/existingNetwork',
      'network.existingNetwork',
    ],
    ['spec.provider.workers[0].providerConfig', '/spec/nodePools/1/publicIP', 'publicIP of node pool general'],
    ['spec.networking.pods', '/spec/network/podCIDR', 'network.podCIDR'],
    ['spec.networking.services', '/spec/network/serviceCIDR', 'network.serviceCIDR'],
    ['spec.provider.workers', '/spec/nodePools', 'nodePools'],
    ['spec.provider.workers[0].machine.type', '/spec/nodePools/1/machineType', 'machineType of node pool general'],
    [
      'spec.provider.workers[1].machine.image.version',
      '/spec/nodePools/2/image/version',
      'image.version of node pool gpu',
    ],
    ['spec.provider.workers[1].machine.image', '/spec/nodePools/2/image', 'image of node pool gpu'],
    ['.spec.provider.workers[name="p2"].maximum', '/spec/nodePools/2/maximum', 'maximum of node pool gpu'],
    ['spec.provider.workers[0].minimum', '/spec/nodePools/1/minimum', 'minimum of node pool general'],
    ['spec.provider.workers[0].zones', '/spec/nodePools/1', 'node pool general'],
    ['spec.provider.workers[0]', '/spec/nodePools/1', 'node pool general'],
  ])('%s maps to %s', (path, pointer, name) => {
    expect(apiFieldOf(path, desired)).toEqual({ pointer, name });
  });

  it.each([
    'spec.purpose',
    'spec.kubernetesX',
    'spec.provider.workers[9].minimum',
    '.spec.provider.workers[name="x"].minimum',
    '',
  ])('outside the declaration has no API field: "%s"', (path) => {
    expect(apiFieldOf(path, desired)).toBeNull();
  });

  it('is mapped for every field rendered from the declaration', () => {
    const rendered = pathsOf(renderShoot(desired, settings).spec, 'spec');
    const ours = /^spec\.(cloudProfile|maintenance|networking\.type|provider\.type)/;

    expect(rendered.filter((path) => !ours.test(path) && apiFieldOf(path, desired) === null)).toEqual([]);
  });

  function pathsOf(value: unknown, path: string): string[] {
    if (typeof value !== 'object' || value === null) return [path];
    return Object.entries(value).flatMap(([key, member]) =>
      pathsOf(member, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`),
    );
  }
});
