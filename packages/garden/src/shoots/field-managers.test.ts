import { describe, expect, it } from '@jest/globals';
import { type FieldManager, isAppliedBy, otherManagersOf, parseManagers } from './field-managers.js';

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

  it('are read from managedFields of any shape', () => {
    expect(parseManagers({ managedFields: [{}, 'x', { manager: 'a', fieldsV1: [] }] })).toEqual([
      { manager: 'unknown', operation: '', time: null, fields: {} },
      { manager: 'a', operation: '', time: null, fields: {} },
    ]);
  });
});
