import { useSuspenseQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { meQuery } from '../api/queries.js';

export interface TeamContext {
  readonly slug: string;
  /** The number of the team; null when the person does not belong to it. */
  readonly id: number | null;
  readonly isAdmin: boolean;
  readonly me: { readonly id: number; readonly email: string };
}

/** The team in the address, and what the person is in it. */
export function useTeam(): TeamContext {
  const { team: slug } = useParams({ from: '/signed-in/teams/$team' });
  const { data: me } = useSuspenseQuery(meQuery());
  const membership = me.teams.find((each) => each.slug === slug);
  return {
    slug,
    id: membership?.id ?? null,
    isAdmin: membership?.role === 'admin',
    me: { id: me.id, email: me.email },
  };
}
