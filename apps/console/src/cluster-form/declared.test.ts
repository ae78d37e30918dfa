import type { ClusterSpec } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { isDeclared } from './declared.js';

const present = {
  kubernetesVersion: '1.34.3',
  plan: 'payg',
  nodePools: [
    { name: 'general', minimum: 1, maximum: 3, publicIP: true },
    { name: 'burst', minimum: 0, maximum: 2, publicIP: true },
  ],
} as unknown as ClusterSpec;
const declared = (values: object) => values as Partial<ClusterSpec>;

describe('a cluster that has the wanted name', () => {
  test.each([
    { kubernetesVersion: '1.34', nodePools: [{ name: 'general', minimum: 1, maximum: 3 }, { name: 'burst' }] },
    { kubernetesVersion: '1.34.3', plan: 'payg' },
    { nodePools: [{ name: 'burst' }, { name: 'general' }] },
  ])('is the declared one when it has all of %j', (values) => {
    expect(isDeclared(declared(values), present)).toBe(true);
  });

  test.each([
    { kubernetesVersion: '1.3' },
    { plan: 'annual' },
    { nodePools: [] },
    { nodePools: [{ name: 'general', minimum: 2 }, { name: 'burst' }] },
    { nodePools: [{ name: 'general' }, { name: 'other' }] },
  ])('is another one when it differs from %j', (values) => {
    expect(isDeclared(declared(values), present)).toBe(false);
  });
});
