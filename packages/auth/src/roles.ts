import type { Role } from '@corral/contracts';

/** Whether a role in a team is enough for what needs another: an administrator may all that a member may. */
export function roleCovers(role: Role, needed: Role): boolean {
  return role === 'admin' || needed === 'member';
}
