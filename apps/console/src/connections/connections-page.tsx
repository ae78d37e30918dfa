import type { Cluster, Connection } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { clustersQuery, connectionsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { ConnectionStatus } from '../ui/status.js';
import { type ColumnsOf, LoadedTable } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { clustersUsing } from './connection-rules.js';

/** The cloud projects that the team has connected. */
export function ConnectionsPage() {
  const { slug: team, can } = useTeam();
  const connections = useQuery(connectionsQuery(team));
  const clusters = useQuery(clustersQuery(team)).data;
  return (
    <Page
      actions={
        can('createConnection') && (
          <LinkButton to={`/teams/${team}/connections/+`} shortcut="n">
            Connect project
          </LinkButton>
        )
      }
    >
      <p className="muted">
        Clusters run in cloud projects of the team, which it makes available with an API token.
        {!can('createConnection') && ' Only administrators connect projects and change connections.'}
      </p>
      <LoadedTable
        query={connections}
        what="connections"
        empty="No cloud project is connected."
        caption="Connections"
        rowKey={({ metadata }) => metadata.ref}
        initialSort="ID"
        columns={columnsOf(team, clusters)}
      />
    </Page>
  );
}

const columnsOf = (team: string, clusters: readonly Cluster[] | undefined): ColumnsOf<Connection> => ({
  ID: {
    isLong: true,
    sortBy: ({ metadata }) => metadata.ref,
    cell: ({ metadata: { ref } }) => (
      <Link to="/teams/$team/connections/$ref" params={{ team, ref }} className="mono">
        {ref}
      </Link>
    ),
  },
  Name: { isLong: true, sortBy: ({ metadata }) => metadata.name, cell: ({ metadata }) => metadata.name },
  Phase: { sortBy: ({ status }) => status.phase, cell: ({ status }) => <ConnectionStatus phase={status.phase} /> },
  Verified: {
    sortBy: ({ status }) => status.verifiedAt ?? '',
    cell: ({ status: { verifiedAt } }) => (verifiedAt === null ? 'never' : <Time at={verifiedAt} />),
  },
  'Used by': {
    isLong: true,
    cell: ({ metadata: { ref } }) => {
      if (clusters === undefined) return <span className="faint">not known</span>;
      const names = clustersUsing(clusters, ref).map(({ metadata }) => metadata.name);
      return names.length === 0 ? <span className="faint">no cluster</span> : names.join(', ');
    },
  },
});
