import type { Connection } from '@corral/contracts';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { corral } from '../api/corral.js';
import { connectionQuery, connectionsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { DangerAction } from '../ui/danger-action.js';
import { Section } from '../ui/page.js';
import { sendIfUnedited } from './send-if-unedited.js';

export function DeleteConnection({ connection }: { readonly connection: Connection }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const { ref } = connection.metadata;
  const [one, all] = [connectionQuery(team, ref), connectionsQuery(team)];
  const remove = async () => {
    await sendIfUnedited(
      connection,
      () => cache.fetchQuery({ ...one, staleTime: 0 }),
      (ifMatch) => corral.deleteConnection({ team, ref }, { ifMatch }),
    );
    announce(`Deleted ${ref}`);
    // The list that opens next does not show it for a moment.
    cache.setQueryData(all.queryKey, (known) => known?.filter(({ metadata }) => metadata.ref !== ref));
    await navigate({ to: '/teams/$team/connections', params: { team } });
    cache.removeQueries({ queryKey: one.queryKey });
    await cache.invalidateQueries({ queryKey: all.queryKey });
  };
  return (
    <Section title="Delete">
      <p className="muted">Possible while neither a cluster nor an adopted server uses the connection.</p>
      <div>
        <DangerAction
          label="Delete connection"
          title={`Delete ${ref}`}
          confirmation={ref}
          action="Delete connection"
          onConfirm={remove}
        >
          <p>Corral erases its token and can no longer reach the project. The project itself and its servers stay.</p>
        </DangerAction>
      </div>
    </Section>
  );
}
