import { rolesNeeded } from '@corral/client';
import { roleNames } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { membersQuery } from '../api/queries.js';
import { Empty } from '../ui/states.js';
import { type TeamOperation, useTeam } from './use-team.js';

interface RoleNeededProps {
  readonly operation: TeamOperation;
  /** The rest of a sentence, such as `connect cloud projects`. */
  readonly what: string;
}

/** A sentence in place of what the role of the person does not include. */
export function RoleNeeded({ operation, what }: RoleNeededProps) {
  const { slug, role } = useTeam();
  const { data: members = [] } = useQuery(membersQuery(slug));
  const names = members.filter((member) => member.role === 'admin').map(({ display_name }) => display_name);
  const allowed = rolesNeeded[operation] === 'admin' ? 'Only administrators' : 'Only members and administrators';
  return (
    <Empty>
      {allowed} {what}. You are {role === null ? 'not in the team' : roleNames[role]}.{' '}
      {names.length > 0 && `Ask ${names.join(', ')}.`}
    </Empty>
  );
}
