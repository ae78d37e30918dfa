import { expect, it } from '@jest/globals';
import { type Role, roleCovers } from './states.js';

it.each<[Role, Role, boolean]>([
  ['admin', 'admin', true],
  ['admin', 'member', true],
  ['admin', 'viewer', true],
  ['member', 'admin', false],
  ['member', 'member', true],
  ['member', 'viewer', true],
  ['viewer', 'admin', false],
  ['viewer', 'member', false],
  ['viewer', 'viewer', true],
])('the role %s covers %s: %s', (role, needed, covered) => {
  expect(roleCovers(role, needed)).toBe(covered);
});
