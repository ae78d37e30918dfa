import type { Connection } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { connectionQuery, connectionsQuery, teamKey } from '../api/queries.js';
import { announce } from '../ui/announcer.js';
import { DangerDialog } from '../ui/danger-dialog.js';
import { Section } from '../ui/page.js';
import { sendIfUnedited } from './send-if-unedited.js';

export function DeleteConnection({ team, connection }: { readonly team: string; readonly connection: Connection }) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const { ref } = connection.metadata;
  const remove = useMutation({
    mutationFn: () =>
      sendIfUnedited(
        connection,
        () => cache.fetchQuery({ ...connectionQuery(team, ref), staleTime: 0 }),
        (ifMatch) => corral.deleteConnection({ team, ref }, { ifMatch }),
      ),
    onSuccess: async () => {
      announce(`Deleted ${ref}`);
      // The list that opens next does not show it for a moment.
      cache.setQueryData(connectionsQuery(team).queryKey, (all) => all?.filter(({ metadata }) => metadata.ref !== ref));
      await navigate({ to: '/teams/$team/connections', params: { team } });
      cache.removeQueries({ queryKey: [...teamKey(team), 'connection', ref] });
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'connections'] });
    },
  });
  return (
    <Section title="Delete">
      <p className="muted">Possible while neither a cluster nor an adopted server uses the connection.</p>
      <div>
        <Button color="bad" onClick={() => setAsking(true)}>
          Delete connection
        </Button>
      </div>
      <DangerDialog
        opened={isAsking}
        onClose={() => {
          setAsking(false);
          remove.reset();
        }}
        title={`Delete ${ref}`}
        confirmation={ref}
        action="Delete connection"
        onConfirm={() => remove.mutate()}
        isPending={remove.isPending}
        error={remove.error}
      >
        <p>Corral erases its token and can no longer reach the project. The project itself and its servers stay.</p>
      </DangerDialog>
    </Section>
  );
}
