import { expect, it } from '@jest/globals';
import { roleCovers } from './team-store.js';

it.each([
  ['admin', 'admin', true],
  ['admin', 'member', true],
  ['member', 'member', true],
  ['member', 'admin', false],
] as const)('the role %s where %s is required: %p', (role, needed, covered) => {
  expect(roleCovers(role, needed)).toBe(covered);
});
