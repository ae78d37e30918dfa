import { asUserId, type Role } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { refusalOf } from '../../test/support/refusal.js';
import { decideMemberChange, type MemberChange, type RuledMember, requireAdmin } from './rules.js';

const aMember = (number: number, role: Role): RuledMember => ({ number, role, userId: asUserId(`u${number}`) });
const team = [aMember(1, 'admin'), aMember(2, 'member'), aMember(3, 'admin')];
const oneAdmin = [aMember(1, 'admin'), aMember(2, 'member')];
const to = (role: Role): MemberChange => ({ kind: 'role', role });
const remove: MemberChange = { kind: 'remove', dnsTokens: 'revoke' };
const handOver: MemberChange = { kind: 'remove', dnsTokens: 'hand_over' };

describe('a change of a member', () => {
  it.each<[string, RuledMember[], string, number, MemberChange, string]>([
    ['a promotion', team, 'u1', 2, to('admin'), 'change'],
    ['a demotion', team, 'u1', 3, to('member'), 'change'],
    ['an administrator who steps back', team, 'u1', 1, to('member'), 'change'],
    ['the current role', team, 'u1', 3, to('admin'), 'unchanged'],
    ['the current role of the only administrator', oneAdmin, 'u1', 1, to('admin'), 'unchanged'],
    ['a removal', oneAdmin, 'u1', 2, remove, 'remove'],
    ['a member who becomes a viewer', team, 'u1', 2, to('viewer'), 'change'],
    ['a member who leaves', oneAdmin, 'u2', 2, remove, 'remove'],
    ['one of two administrators who leaves', team, 'u1', 1, remove, 'remove'],
    ['a removal with tokens handed over', oneAdmin, 'u1', 2, handOver, 'remove'],
    ['an administrator who leaves and hands tokens over', team, 'u1', 1, handOver, 'remove'],
  ])('%s is accepted', (_what, members, callerId, number, change, kind) => {
    expect(decideMemberChange(members, callerId, number, change)).toEqual({
      kind,
      member: members.find((member) => member.number === number),
    });
  });

  it.each<[string, RuledMember[], string, number, MemberChange, string]>([
    ['the only administrator who leaves', oneAdmin, 'u1', 1, remove, 'last_admin'],
    ['the only administrator who steps back', oneAdmin, 'u1', 1, to('member'), 'last_admin'],
    ['a member who leaves and hands tokens over', team, 'u2', 2, handOver, 'permission_denied'],
    ['a member who removes another', team, 'u2', 1, remove, 'permission_denied'],
    ['a member who promotes themselves', team, 'u2', 2, to('admin'), 'permission_denied'],
    ['an unknown membership', team, 'u1', 9, remove, 'not_found'],
    ['a caller who is no longer a member', team, 'u9', 2, remove, 'not_found'],
    ['a removed member who removes themselves', oneAdmin, 'u3', 3, remove, 'not_found'],
  ])('%s is refused', (_what, members, callerId, number, change, code) => {
    expect(refusalOf(() => decideMemberChange(members, callerId, number, change))).toEqual([code]);
  });

  it('always leaves the team an administrator', () => {
    const role = fc.constantFrom<Role>('admin', 'member', 'viewer');
    const change = fc.oneof(fc.constantFrom(remove, handOver), role.map(to));
    const asked = fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }), change);
    fc.assert(
      fc.property(fc.array(role, { maxLength: 6 }), fc.array(asked, { maxLength: 30 }), (roles, requests) => {
        let members = [aMember(0, 'admin'), ...roles.map((each, index) => aMember(index + 1, each))];
        for (const [by, about, wanted] of requests) {
          const before = members;
          const refusal = refusalOf(() => {
            const { kind, member } = decideMemberChange(members, `u${by}`, about, wanted);
            members = members.filter((each) => each !== member);
            if (kind !== 'remove') members = [...members, wanted.kind === 'role' ? { ...member, ...wanted } : member];
          });

          expect(members.some((member) => member.role === 'admin')).toBe(true);
          if (refusal !== null) expect(members).toBe(before);
        }
      }),
    );
  });
});

describe('the administrator check', () => {
  it('passes only for current administrators', () => {
    expect(refusalOf(() => requireAdmin(team, asUserId('u1')))).toBeNull();
    expect(refusalOf(() => requireAdmin(team, asUserId('u2')))).toEqual(['permission_denied']);
    expect(refusalOf(() => requireAdmin(team, asUserId('u9')))).toEqual(['not_found']);
  });
});
