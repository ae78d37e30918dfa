import { isCorralError } from '@corral/client';
import { useQuery } from '@tanstack/react-query';
import { membersQuery } from '../api/queries.js';
import { Empty } from './states.js';

/** A sentence in place of what only administrators can do. @param what such as `connect a cloud project` */
export function AdminsOnly({ team, what }: { readonly team: string; readonly what: string }) {
  const { data: members = [], error } = useQuery(membersQuery(team));
  if (isCorralError(error) && error.status === 404) return <Empty>Not found, or not in your teams.</Empty>;
  const names = members.filter(({ role }) => role === 'admin').map(({ display_name }) => display_name);
  return (
    <Empty>
      Only administrators {what}. {names.length > 0 && `Ask ${names.join(', ')}.`}
    </Empty>
  );
}
