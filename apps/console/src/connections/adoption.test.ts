import type { ProjectServer } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { type AdoptionDraft, adoptionSpec, emptyAdoption, nameToType } from './adoption.js';

const found: ProjectServer = {
  serverID: 4711,
  name: 'build-1',
  serverType: 'cx22',
  location: 'hel1',
  architecture: 'amd64',
  state: 'running',
  adoptable: true,
  reason: null,
};
const draft = (of: Partial<AdoptionDraft> = {}): AdoptionDraft => ({ ...emptyAdoption, number: '4711', ...of });

describe('an adoption', () => {
  test('takes type, location and architecture of a cloud server from the provider', () => {
    expect(adoptionSpec(draft({ serverType: 'typed before' }), found)).toEqual({
      serverID: 4711,
      serverType: 'cx22',
      location: 'hel1',
      architecture: 'amd64',
      serverKind: 'cloud',
    });
  });

  test.each([
    ['has not been looked up', draft(), null],
    ['cannot be adopted', draft(), { ...found, adoptable: false, reason: 'It is adopted.' }],
    ['is not the one that was looked up', draft({ number: '4712' }), found],
    ['has no number', draft({ number: 'build-1' }), found],
  ])('is not possible while the server %s', (_why, typed, server) => {
    expect(adoptionSpec(typed, server)).toBeNull();
  });

  test('takes what was typed about a machine', () => {
    const machine = draft({ kind: 'dedicated', serverType: ' ax42 ', location: 'fsn1-dc14' });

    expect(adoptionSpec(machine, null)).toMatchObject({ serverType: 'ax42', serverKind: 'dedicated' });
    expect(adoptionSpec({ ...machine, location: ' ' }, null)).toBeNull();
  });

  test('asks for the live name of a cloud server, and for the number of a machine', () => {
    expect(nameToType(draft(), found)).toBe('build-1');
    expect(nameToType(draft({ kind: 'onprem' }), null)).toBe('4711');
  });
});
