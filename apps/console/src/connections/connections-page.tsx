import type { Cluster, Connection } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { clustersQuery, connectionsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { ConnectionStatus } from '../ui/status.js';
import { type Column, Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { clustersUsing } from './connection-rules.js';

/** The cloud projects that the team has connected. */
export function ConnectionsPage() {
  const { slug: team, can } = useTeam();
  const connections = useQuery(connectionsQuery(team));
  const clusters = useQuery(clustersQuery(team));
  const columns = useMemo(() => columnsOf(team, clusters.data), [team, clusters.data]);
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
      <Loaded query={connections} what="connections">
        {(all) =>
          all.length === 0 ? (
            <Empty>No cloud project is connected.</Empty>
          ) : (
            <Table
              caption="Connections"
              columns={columns}
              rows={all}
              rowKey={({ metadata }) => metadata.ref}
              initialSort="ref"
            />
          )
        }
      </Loaded>
    </Page>
  );
}

const columnsOf = (team: string, clusters: readonly Cluster[] | undefined): readonly Column<Connection>[] => [
  {
    id: 'ref',
    label: 'ID',
    isLong: true,
    sortBy: ({ metadata }) => metadata.ref,
    cell: ({ metadata: { ref } }) => (
      <Link to="/teams/$team/connections/$ref" params={{ team, ref }} className="mono">
        {ref}
      </Link>
    ),
  },
  {
    id: 'name',
    label: 'Name',
    isLong: true,
    sortBy: ({ metadata }) => metadata.name,
    cell: ({ metadata }) => metadata.name,
  },
  {
    id: 'phase',
    label: 'Phase',
    sortBy: ({ status }) => status.phase,
    cell: ({ status }) => <ConnectionStatus phase={status.phase} />,
  },
  {
    id: 'verified',
    label: 'Verified',
    sortBy: ({ status }) => status.verifiedAt ?? '',
    cell: ({ status: { verifiedAt } }) => (verifiedAt === null ? 'never' : <Time at={verifiedAt} />),
  },
  {
    id: 'used',
    label: 'Used by',
    isLong: true,
    cell: ({ metadata: { ref } }) => {
      if (clusters === undefined) return <span className="faint">not known</span>;
      const names = clustersUsing(clusters, ref).map(({ metadata }) => metadata.name);
      return names.length === 0 ? <span className="faint">no cluster</span> : names.join(', ');
    },
  },
];
