import { asUserId, teamEventKinds } from '@corral/contracts';
import { expect, it } from '@jest/globals';
import { mayRead } from './event.js';

const member = { userId: asUserId('m'), role: 'member' } as const;
const admin = { userId: asUserId('a'), role: 'admin' } as const;

it.each(teamEventKinds)('administrators read all events, members those that they own: %s', (kind) => {
  expect(mayRead({ kind, ownerId: 'somebody' }, admin)).toBe(true);
  expect(mayRead({ kind, ownerId: member.userId }, member)).toBe(true);
});

it.each(teamEventKinds)('members read events without an owner, except for tokens: %s', (kind) => {
  expect(mayRead({ kind, ownerId: null }, member)).toBe(kind !== 'DnsToken');
});

it('members do not read events of others’ tokens', () => {
  expect(mayRead({ kind: 'DnsToken', ownerId: 'somebody' }, member)).toBe(false);
});
