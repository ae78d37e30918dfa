/** Roles from most to least rights: each one may do everything that the roles after it may do. */
export const roles = ['admin', 'member', 'viewer'] as const;
export type Role = (typeof roles)[number];
/** Whether a role in a team includes another: an administrator may do everything that a member or a viewer may do. */
export const roleCovers = (role: Role, needed: Role): boolean => roles.indexOf(role) <= roles.indexOf(needed);
/** Roles in sentences that say as what somebody joins a team. */
export const roleNames: Readonly<Record<Role, string>> = {
  admin: 'an administrator',
  member: 'a member',
  viewer: 'a viewer',
};
