import { asOperationId } from '@corral/contracts';
import type { FieldManager } from '@corral/garden';
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
} from '../../../test/support/a-cluster.js';
import { decide } from '../decide/decide.js';
import { judge } from '../judge/judge.js';
import { factsOf } from '../observe.js';
import { driftOf, driftSentence } from './drift.js';

const pools = [aPool({ image: { name: 'ubuntu', version: '24.4' } })];
const desired = aSteadyDesired({ pools });
const workerOf = (more: object) => {
  const [rendered] = (aShoot(desired).spec.provider as { workers: object[] }).workers;
  return { provider: { workers: [{ ...rendered, ...more }] } };
};
const inWorker = (fields: object) => ({
  'f:spec': { 'f:provider': { 'f:workers': { 'k:{"name":"p1a2b3"}': fields } } },
});
const edited = (spec: object, fields: Record<string, unknown>, more: object = {}) =>
  aShoot(desired, {
    generation: 2,
    observedGeneration: 2,
    spec: spec as Record<string, unknown>,
    managers: [ourHold, aManager('kubectl-edit', fields, minutesLater(3))],
    ...more,
  });
const scaled = edited(workerOf({ maximum: 9 }), inWorker({ 'f:maximum': {} }));

const inNetworks = {
  'f:spec': { 'f:provider': { 'f:infrastructureConfig': { 'f:networks': { 'f:existingNetwork': {} } } } },
};
const intoNetwork = (existingNetwork: string) => {
  const { provider } = aShoot(desired).spec as { provider: { infrastructureConfig: { networks: object } } };
  const networks = { ...provider.infrastructureConfig.networks, existingNetwork };
  return { provider: { ...provider, infrastructureConfig: { ...provider.infrastructureConfig, networks } } };
};

const cases: [field: string, values: string, spec: object, fields: Record<string, unknown>][] = [
  [
    'publicIP of node pool general',
    ' is false instead of true',
    workerOf({ providerConfig: { publicIP: false } }),
    inWorker({ 'f:providerConfig': { 'f:publicIP': {} } }),
  ],
  ['network.existingNetwork', ' is theirs instead of absent', intoNetwork('theirs'), inNetworks],
  [
    'hibernated',
    ' is true instead of false',
    { hibernation: { enabled: true } },
    { 'f:spec': { 'f:hibernation': { 'f:enabled': {} } } },
  ],
  ['maximum of node pool general', ' is 9 instead of 3', workerOf({ maximum: 9 }), inWorker({ 'f:maximum': {} })],
  ['minimum of node pool general', ' is 2 instead of 1', workerOf({ minimum: 2 }), inWorker({ 'f:minimum': {} })],
  [
    'machineType of node pool general',
    ' is cpx51 instead of cpx31',
    workerOf({ machine: { type: 'cpx51', image: { name: 'ubuntu', version: '24.4.0' } } }),
    inWorker({ 'f:machine': { 'f:type': {} } }),
  ],
  [
    'image.version of node pool general',
    ' is 24.10.0 instead of 24.4',
    workerOf({ machine: { type: 'cpx31', image: { name: 'ubuntu', version: '24.10.0' } } }),
    inWorker({ 'f:machine': { 'f:image': { 'f:version': {} } } }),
  ],
  [
    'spec.maintenance.confineSpecUpdateRollout',
    ' is true instead of false',
    {
      maintenance: {
        autoUpdate: { kubernetesVersion: false, machineImageVersion: false },
        confineSpecUpdateRollout: true,
      },
    },
    { 'f:spec': { 'f:maintenance': { 'f:confineSpecUpdateRollout': {} } } },
  ],
  ['connectionRef', '', { credentialsBindingName: 'theirs' }, { 'f:spec': { 'f:credentialsBindingName': {} } }],
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
    expect(verdict).toMatchObject({ operation: { to: 'stay' } });
  });

  it('is reported for image options as well', () => {
    const image = { name: 'ubuntu', hugePages: 2 };
    const wanting = aSteadyDesired({ pools: [aPool({ image })] });
    const [worker] = (aShoot(wanting).spec.provider as { workers: { machine: object }[] }).workers;
    const machine = { ...worker?.machine, image: { name: 'ubuntu', providerConfig: { hugePages: 4 } } };
    const owned = inWorker({ 'f:machine': { 'f:image': { 'f:providerConfig': { 'f:hugePages': {} } } } });
    const shoot = aShoot(wanting, {
      generation: 2,
      observedGeneration: 2,
      spec: { provider: { workers: [{ ...worker, machine }] } },
      managers: [ourHold, aManager('kubectl-edit', owned, minutesLater(3))],
    });

    expect(driftSentence(driftOf(wanting, factsOf(shoot)))).toBe(
      'Another manager changed fields that are declared here: image of node pool general is hugePages=4 instead of hugePages=2 (kubectl-edit).',
    );
  });

  it('is reported with its most recent manager', () => {
    const managers = [aManager('earlier', inWorker({ 'f:maximum': {} }), minutesLater(1)), ...scaled.managers];

    expect(driftOf(desired, factsOf({ ...scaled, managers }))).toMatchObject([{ manager: 'kubectl-edit' }]);
  });

  it('plans no further pass while no operation is open', () => {
    expect(judge(desired, present(scaled), minutesLater(9))).toMatchObject({ phase: 'Degraded', nextPassMs: null });
  });

  it('is not drift when it only completes an image version', () => {
    const completed = workerOf({ machine: { type: 'cpx31', image: { name: 'ubuntu', version: '24.4.20261101' } } });

    expect(
      driftOf(desired, factsOf(edited(completed, inWorker({ 'f:machine': { 'f:image': { 'f:version': {} } } })))),
    ).toEqual([]);
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
      const annotations = { [annotation]: 'theirs' };
      const managers = [
        ourHold,
        aManager('kubectl', { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } }),
      ];

      expect(decide(desired, present(aShoot(desired, { annotations, managers })), minutesLater(9))).toEqual({
        do: 'applyShoot',
      });
    },
  );
});

describe('a pool that another manager added', () => {
  const theirs = { name: 'batch', machine: { type: 'cpx51' }, minimum: 1, maximum: 3 };
  const holdOf = (fields: object) => ({
    'f:spec': { 'f:provider': { 'f:workers': { 'k:{"name":"batch"}': fields } } },
  });
  const [rendered] = (aShoot(desired).spec.provider as { workers: object[] }).workers;
  const withPool = (managers: FieldManager[]) =>
    aShoot(desired, {
      generation: 2,
      observedGeneration: 2,
      spec: { provider: { workers: [rendered, theirs] } },
      managers: [ourHold, ...managers],
    });
  const added = withPool([
    aManager('gardener-controller-manager', holdOf({ 'f:machine': {} }), minutesLater(4)),
    aManager('kubectl-edit', holdOf({ '.': {}, 'f:name': {}, 'f:maximum': {} }), minutesLater(3)),
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
    managers: [ourHold, aManager('gardener-controller-manager', { 'f:spec': { 'f:kubernetes': { 'f:version': {} } } })],
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
    judge({ ...desired, known, operation: anOperation(acceptedAt) }, present(scaled), minutesLater(minutes)).operation;

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
