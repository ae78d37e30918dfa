import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type FieldManager, isAppliedBy, otherManagersOf, parseManagers, parseShoot } from './shoot.js';
import { createLineCutter } from './watch-stream.js';

describe('parsing of a Shoot', () => {
  const metadata = { name: 'n', namespace: 'ns', uid: 'u', resourceVersion: '1' };

  it('reads all fields', () => {
    const status = {
      observedGeneration: 6,
      technicalID: 'shoot--t--c',
      seedName: 'seed-hel',
      hibernated: true,
      lastOperation: { type: 'Reconcile', state: 'Error', progress: 43, description: 'words', lastUpdateTime: 't0' },
      lastErrors: [{ taskID: 'task', codes: ['ERR_INFRA_QUOTA_EXCEEDED'], description: 'words', lastUpdateTime: 't' }],
      conditions: [{ type: 'EveryNodeReady', status: 'Progressing', codes: ['C'], lastTransitionTime: 't1' }],
      advertisedAddresses: [{ name: 'external', url: 'https://api.c.example' }],
      retryCycleStartTime: 't3',
      migrationStartTime: null,
    };
    const changes = { generation: 7, deletionTimestamp: '2026-08-01T10:00:00Z' };
    const spec = { region: 'hel1', hibernation: { enabled: true } };
    const constraints = [{ type: 'HibernationPossible', status: 'True' }];

    expect(
      parseShoot({ metadata: { ...metadata, ...changes }, spec, status: { ...status, constraints } }),
    ).toMatchObject({
      metadata: changes,
      spec,
      status: { ...status, constraints: [{ ...constraints[0], reason: '', codes: [] }] },
    });
  });

  it.each(['name', 'namespace', 'uid', 'resourceVersion'])('rejects a Shoot without %s', (key) => {
    expect(parseShoot({ metadata: { ...metadata, [key]: undefined } })).toBeNull();
    expect(parseShoot({ metadata: { ...metadata, [key]: '' } })).toBeNull();
    expect(parseShoot({ metadata: { ...metadata, [key]: 5 } })).toBeNull();
  });

  it('accepts any spec and status, and always returns the same shape', () => {
    const shape = (value: object) => Object.keys(value).sort();
    const empty = parseShoot({ metadata });

    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.dictionary(fc.constantFrom(...Object.keys(empty?.status ?? {})), fc.jsonValue()),
        (spec, status) => {
          const shoot = parseShoot(JSON.parse(JSON.stringify({ metadata, spec, status })));

          expect(shape(shoot?.status ?? {})).toEqual(shape(empty?.status ?? {}));
          expect(typeof shoot?.spec).toBe('object');
          for (const list of ['lastErrors', 'conditions', 'constraints', 'advertisedAddresses'] as const) {
            expect(Array.isArray(shoot?.status[list])).toBe(true);
          }
        },
      ),
    );
  });
});

describe('field managers', () => {
  const entry = (manager: string, fields: object, time = '2026-08-01T10:00:00Z', operation = 'Update') => ({
    manager,
    operation,
    time,
    apiVersion: 'core.gardener.cloud/v1beta1',
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
  });
  const inWorker = (fields: object) => ({
    'f:spec': { 'f:provider': { 'f:workers': { 'k:{"name":"p1"}': { '.': {}, 'f:name': {}, ...fields } } } },
  });
  const managersOf = (...managedFields: object[]): FieldManager[] => parseManagers({ managedFields });
  const holding = (managers: FieldManager[], path: string) =>
    otherManagersOf(managers, path).map(({ manager }) => manager);

  describe('other owners of a field', () => {
    const managers = managersOf(
      entry('kubectl', inWorker({ 'f:maximum': {} })),
      entry('gardener', { 'f:spec': { 'f:kubernetes': { 'f:version': {} } } }),
      entry('atomic', { 'f:spec': { 'f:provider': { 'f:infrastructureConfig': {} } } }),
      entry('labels', { 'f:metadata': { 'f:annotations': { 'f:corral.dev/plan': {} } } }),
    );

    it.each([
      ['.spec.provider.workers[name="p1"].maximum', ['kubectl']],
      ['.spec.provider.workers[name="p1"].minimum', []],
      ['.spec.provider.workers[name="p1"]', ['kubectl']],
      ['.spec.provider.workers[name="p2"].maximum', []],
      ['.spec.kubernetes.version', ['gardener']],
      ['.spec.kubernetes', ['gardener']],
      ['.spec.provider.infrastructureConfig.networks', ['atomic']],
      ['.metadata.annotations.corral.dev/plan', ['labels']],
      ['.metadata.annotations.corral.dev', []],
      ['.spec.region', []],
    ])('of %s are %p', (path, expected) => {
      expect(holding(managers, path)).toEqual(expected);
    });

    it('are listed latest first, without our own and without the manager before the first apply', () => {
      const all = managersOf(
        entry('early', inWorker({ 'f:maximum': {} }), '2026-08-01T10:00:00Z'),
        entry('corral', inWorker({ 'f:maximum': {} }), '2026-08-01T12:00:00Z'),
        entry('before-first-apply', inWorker({ 'f:maximum': {} }), '2026-08-01T12:00:00Z'),
        entry('late', inWorker({ 'f:maximum': {} }), '2026-08-01T11:00:00Z'),
      );

      expect(holding(all, '.spec.provider.workers[name="p1"].maximum')).toEqual(['late', 'early']);
    });
  });

  describe('our own field managers', () => {
    it('include those of our applies, which a restore may have lost', () => {
      expect(isAppliedBy(managersOf(entry('corral', {}, undefined, 'Apply')))).toBe(true);
      expect(isAppliedBy(managersOf(entry('corral', {})))).toBe(false);
      expect(isAppliedBy(parseManagers({}))).toBe(false);
    });
  });
});

describe('lines', () => {
  it('are the same for any division of the stream into chunks', () => {
    const line = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a)));

    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(50)), (lines, sizes) => {
        const stream = Buffer.concat(lines.flatMap((bytes) => [bytes, Buffer.from('\n')]));
        const cutter = createLineCutter(1_000);
        const found: Buffer[] = [];
        let at = 0;
        for (const size of [...sizes, stream.length]) {
          found.push(...cutter.cut(stream.subarray(at, at + size)));
          at += size;
        }

        expect(found).toEqual(lines.filter((bytes) => bytes.length > 0));
      }),
    );
  });
});
