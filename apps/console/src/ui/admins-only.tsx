import { useQuery } from '@tanstack/react-query';
import { membersQuery } from '../api/queries.js';
import { Empty } from './states.js';

/** In place of what only administrators can do. @param what such as `connect a cloud project` */
export function AdminsOnly({ team, what }: { readonly team: string; readonly what: string }) {
  const { data: members = [] } = useQuery(membersQuery(team));
  const names = members.filter(({ role }) => role === 'admin').map(({ display_name }) => display_name);
  return (
    <Empty>
      Only administrators {what}. {names.length > 0 && `Ask ${names.join(', ')}.`}
    </Empty>
  );
}
