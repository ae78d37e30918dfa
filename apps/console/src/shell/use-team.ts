import { rolesNeeded } from '@corral/client';
import { type Role, roleCovers } from '@corral/contracts';
import { useSuspenseQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { meQuery } from '../api/queries.js';

/** An operation of either API that needs a role in the team. */
export type TeamOperation = keyof typeof rolesNeeded;

export interface TeamContext {
  readonly slug: string;
  /** The number of the team; null when the person does not belong to it. */
  readonly id: number | null;
  /** Null when the person does not belong to the team. */
  readonly role: Role | null;
  /** Whether the role has all of an operation. What it has a part of, such as to remove oneself, the page knows. */
  readonly can: (operation: TeamOperation) => boolean;
  readonly me: { readonly id: number; readonly email: string };
}

/** One object for each role, so that effects and memos may depend on it. */
const abilities = new Map<Role | null, TeamContext['can']>(
  [null, 'viewer' as const, 'member' as const, 'admin' as const].map((role) => [
    role,
    (operation) => role !== null && roleCovers(role, rolesNeeded[operation]),
  ]),
);

/** The team in the address, and what the person is and can do in it. */
export function useTeam(): TeamContext {
  const { team: slug } = useParams({ from: '/signed-in/teams/$team' });
  const { data: me } = useSuspenseQuery(meQuery());
  const membership = me.teams.find((each) => each.slug === slug);
  const role = membership?.role ?? null;
  return {
    slug,
    id: membership?.id ?? null,
    role,
    can: abilities.get(role) as TeamContext['can'],
    me: { id: me.id, email: me.email },
  };
}
