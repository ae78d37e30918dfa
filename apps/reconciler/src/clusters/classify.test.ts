import { GardenError, type GardenErrorKind } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aDesired, aPool } from '../../test/support/a-cluster.js';
import { classifyFailure, type Failure } from './classify.js';
import { VersionUnavailable } from './decide/resolve-version.js';
import type { Step } from './model.js';
import { Unrenderable } from './render.js';

const all: Record<GardenErrorKind, Failure['kind']> = {
  unreachable: 'pause',
  uncertain: 'retry',
  throttled: 'retry',
  credentials: 'pause',
  rbac: 'retry',
  refused: 'needsUser',
  webhook_unavailable: 'retry',
  quota_exceeded: 'platform',
  stale_reference: 'retry',
  conflict: 'retry',
  exists: 'retry',
  not_found: 'retry',
  expired: 'retry',
  server_error: 'retry',
  unusable: 'pause',
};
const steps: Step['do'][] = [
  'ensureProject',
  'applyCredentials',
  'pinVersion',
  'applyShoot',
  'reconcileShoot',
  'retryShoot',
  'deleteShoot',
  'forget',
  'finish',
];

interface Case {
  readonly step?: Step['do'];
  readonly failures?: number;
  readonly random?: number;
}
const classified = (error: unknown, { step = 'applyShoot', failures = 0, random = 0.5 }: Case = {}): Failure =>
  classifyFailure(error, { desired: aDesired({ known: { failures } }), step, random: () => random });
const garden = (kind: GardenErrorKind, details = {}) => new GardenError(kind, 'a call', details);

describe('an error of the garden', () => {
  it.each(Object.entries(all))('of kind %s is first classified as %s', (kind, expected) => {
    expect(classified(garden(kind as GardenErrorKind)).kind).toBe(expected);
  });

  it('waits at least for the Retry-After time, plus jitter', () => {
    const failure = (random: number) => classified(garden('throttled', { retryAfterSeconds: 30 }), { random });

    expect(failure(0)).toEqual({ kind: 'retry', afterMs: 30_000 });
    expect(failure(0.5)).toEqual({ kind: 'retry', afterMs: 30_500 });
    expect(classified(garden('unreachable', { retryAfterSeconds: 120 }), { random: 0 })).toMatchObject({
      afterMs: 120_000,
    });
  });

  it('of a webhook that does not answer has a back-off of its own, and names the webhook', () => {
    const error = garden('webhook_unavailable', { webhook: 'own.example.org' });

    expect(classified(error, { random: 1 })).toEqual({
      kind: 'retry',
      afterMs: 2_000,
      told: { reason: 'WebhookUnavailable', message: expect.stringContaining('own.example.org') },
    });
    expect(classified(error, { failures: 99, random: 1 })).toMatchObject({ afterMs: 60_000 });
  });

  it('never fails an operation while the garden is unreachable', () => {
    for (const kind of ['unreachable', 'credentials', 'unusable'] as const) {
      for (const step of steps) expect(classified(garden(kind), { step, failures: 500 }).kind).toBe('pause');
    }
  });

  it.each([
    ['a missing right', 'rbac', 'bug'],
    ['an unknown reference', 'stale_reference', 'needsUser'],
  ] as const)('is treated as lag first and classified as final after five tries: %s', (_, kind, then) => {
    expect(classified(garden(kind), { failures: 4 }).kind).toBe('retry');
    expect(classified(garden(kind), { failures: 5 }).kind).toBe(then);
  });
});

describe('a refusal', () => {
  const fields = [
    { field: 'spec.provider.workers[0].machine.type', message: 'machine type cpx31 is secret' },
    { field: 'spec.provider.workers[0].machine.type', message: 'twice' },
    { field: 'spec.kubernetes.version', message: 'no' },
    { field: 'spec.tolerations', message: 'nobody declared it' },
  ];

  it('names each refused API field once, without the garden’s wording', () => {
    const failure = classified(garden('refused', { fields, sentences: ['machine type cpx31 is secret'] }));

    expect(failure).toEqual({
      kind: 'needsUser',
      code: 'refused_by_garden',
      reason: 'SpecRefused',
      message: 'The specification was refused: see machineType of node pool general, kubernetesVersion.',
      fields: [
        { pointer: '/spec/nodePools/0/machineType', name: 'machineType of node pool general' },
        { pointer: '/spec/kubernetesVersion', name: 'kubernetesVersion' },
      ],
    });
  });

  it.each([
    'cannot change spec while the control plane is being migrated',
    'shoot is in restore phase',
    'spec: field is immutable, deletionTimestamp is set',
  ])('is retried while the Shoot migrates or is being deleted: "%s"', (sentence) => {
    expect(classified(garden('refused', { sentences: [sentence] })).kind).toBe('retry');
    expect(classified(garden('refused', { sentences: [sentence] }), { step: 'deleteShoot' }).kind).toBe('retry');
  });

  it.each([
    "'HibernationPossible' constraint is 'Progressing': All webhooks are properly configured.",
    "'HibernationPossible' constraint is 'Unknown': the API server does not answer",
    'shoot cannot be hibernated when .status.credentials.rotation.serviceAccountKey.phase is "Preparing"',
  ])('is retried while the cluster cannot be hibernated yet: %s', (sentence) => {
    expect(classified(garden('refused', { sentences: [sentence] }), { failures: 50 }).kind).toBe('retry');
  });

  it('by a policy is told in its words, whatever they are, with the fields that it names', () => {
    const words = 'spec.region: do not migrate to hel1, or restore';
    const error = garden('refused', {
      denial: { by: 'regions', words },
      sentences: [words],
      fields: [{ field: 'spec.region', message: 'do not migrate to hel1, or restore' }],
    });

    expect(classified(error)).toEqual({
      kind: 'needsUser',
      code: 'refused_by_garden',
      reason: 'SpecRefused',
      message: `The policy regions of the garden refuses the specification: ${words}.`,
      fields: [{ pointer: '/spec/region', name: 'region' }],
    });
    expect(classified(error, { step: 'deleteShoot' })).toMatchObject({
      kind: 'retry',
      told: { reason: 'PolicyRefused', message: expect.stringContaining('refuses the deletion: ') },
    });
  });

  it('reports a webhook that blocks hibernation', () => {
    const sentence = "'HibernationPossible' constraint is 'False': webhook secret.example.org is problematic";

    const failure = classified(garden('refused', { sentences: [sentence] }));

    expect(failure).toMatchObject({ kind: 'needsUser', code: 'webhook_blocks', fields: [{ name: 'hibernated' }] });
    expect(JSON.stringify(failure)).not.toContain('secret');
  });

  it('of a binding that does not exist yet is treated as lag', () => {
    const unknown = garden('refused', { sentences: ['credentialsbindings "conn-1" not found'] });

    expect(classified(unknown).kind).toBe('retry');
    expect(classified(unknown, { failures: 5 }).kind).toBe('needsUser');
  });

  it('of hibernation because of a webhook names the field hibernated', () => {
    const field = { field: 'spec.hibernation.enabled', message: 'webhook x is problematic' };

    expect(classified(garden('refused', { fields: [field] }))).toMatchObject({
      message: 'The specification was refused: see hibernated.',
    });
  });

  it.each(['refused', 'quota_exceeded'] as const)('of credentials (%s) is not blamed on the token', (kind) => {
    expect(classified(garden(kind), { step: 'applyCredentials' }).kind).toBe('platform');
  });

  it('of a field unknown to the garden names the field, even if it is not part of the API', () => {
    const fields = [{ field: 'spec.maintenance.confineSpecUpdateRollout', message: 'field not declared in schema' }];

    expect(classified(garden('refused', { fields }), { failures: 50 })).toMatchObject({
      kind: 'needsUser',
      code: 'refused_by_garden',
      message: 'The specification was refused: see spec.maintenance.confineSpecUpdateRollout.',
    });
  });

  it.each(['ensureProject', 'deleteShoot', 'reconcileShoot', 'retryShoot'] as const)(
    'of %s is a bug, since the request holds nothing that a team declared',
    (step) => {
      expect(classified(garden('refused'), { step }).kind).toBe('bug');
    },
  );
});

it.each([
  ['over the identity', { uidMismatch: true, causes: [] }],
  ['with a write in between', {}],
  ['over a field', { causes: [{ field: '.spec.hibernation.enabled', manager: 'kubectl' }] }],
])('a conflict %s is retried after the next read', (_, details) => {
  expect(classified(garden('conflict', details), { failures: 9 }).kind).toBe('retry');
});

it('a quota of the garden is retried slowly without limit', () => {
  const after = (failures: number) => classified(garden('quota_exceeded'), { failures, random: 0.999 });

  expect(after(0)).toMatchObject({ code: 'platform_quota_exceeded', reason: 'PlatformQuotaExceeded' });
  expect([0, 500].map((failures) => Math.round((after(failures) as { afterMs: number }).afterMs / 1_000))).toEqual([
    30, 300,
  ]);
});

describe('an error before the request to the garden', () => {
  it('names the field that cannot be rendered into a Shoot', () => {
    expect(classified(new Unrenderable('/spec/network/existingNetwork', 'no'))).toMatchObject({
      kind: 'needsUser',
      code: 'refused_by_garden',
      message: 'The specification was refused: see network.existingNetwork.',
      fields: [{ pointer: '/spec/network/existingNetwork' }],
    });
  });

  it('names the unavailable version', () => {
    expect(classified(new VersionUnavailable('1.31'), { step: 'pinVersion' })).toMatchObject({
      kind: 'needsUser',
      code: 'configuration_problem',
      reason: 'VersionUnavailable',
      message: 'Kubernetes 1.31 is not available, or no longer available.',
    });
  });

  it.each([
    ['an error', new TypeError('x is undefined')],
    ['a string', 'a text'],
    ['nothing', undefined],
  ])('is a bug when the thrown value is unknown: %s', (_, error) => {
    expect(classified(error)).toMatchObject({ kind: 'bug', afterMs: 30_000 });
  });
});

describe('delays', () => {
  it('grow exponentially up to a maximum, with full jitter', () => {
    const after = (failures: number, random = 1) => {
      const failure = classified(garden('server_error'), { failures, random });
      return failure.kind === 'retry' ? failure.afterMs : null;
    };

    expect([0, 1, 2, 3].map((failures) => after(failures))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(after(60)).toBe(300_000);
    expect(after(60, 0)).toBe(0);
  });

  it('exist for every error and step, and no message contains the garden’s wording', () => {
    const error = fc.record({
      kind: fc.constantFrom(...(Object.keys(all) as GardenErrorKind[])),
      sentence: fc.constantFrom('secret words', 'secret migration', 'secret credentialsbinding not found'),
      field: fc.constantFrom('spec.secretRef', 'spec.region', 'metadata.uid'),
      retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 900 })),
    });
    fc.assert(
      fc.property(
        error,
        fc.constantFrom(...steps),
        fc.nat(100),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (e, step, failures, random) => {
          const { kind, sentence, field, retryAfterSeconds } = e;
          const details = { sentences: [sentence], fields: [{ field, message: sentence }], retryAfterSeconds };
          const failure = classified(garden(kind, details), { step, failures, random });

          if (failure.kind === 'needsUser') expect(JSON.stringify(failure)).not.toContain('secret');
          else expect(failure.afterMs).toBeGreaterThanOrEqual((retryAfterSeconds ?? 0) * 1_000);
        },
      ),
    );
  });
});

it('the index of a pool counts rendered pools only', () => {
  const desired = aDesired({
    pools: [aPool({ maximum: 0, minimum: 0 }), aPool({ name: 'second', workerName: 'p2' })],
  });
  const error = garden('refused', { fields: [{ field: 'spec.provider.workers[0].minimum', message: '' }] });

  expect(classifyFailure(error, { desired, step: 'applyShoot', random: () => 0 })).toMatchObject({
    fields: [{ pointer: '/spec/nodePools/1/minimum' }],
  });
});
