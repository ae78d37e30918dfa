import { teamEventKinds } from '@corral/contracts';
import { expect, it } from '@jest/globals';
import { mayRead } from './may-read.js';

const member = { userId: 'm', role: 'member' } as const;
const admin = { userId: 'a', role: 'admin' } as const;

it.each(teamEventKinds)('of every kind administrators read all, members what is theirs: %s', (kind) => {
  expect(mayRead({ kind, ownerId: 'somebody' }, admin)).toBe(true);
  expect(mayRead({ kind, ownerId: member.userId }, member)).toBe(true);
});

it.each(teamEventKinds)('members read what nobody has to themselves, but for tokens: %s', (kind) => {
  expect(mayRead({ kind, ownerId: null }, member)).toBe(kind !== 'DnsToken');
});

it('members read of nobody else’s tokens', () => {
  expect(mayRead({ kind: 'DnsToken', ownerId: 'somebody' }, member)).toBe(false);
});
