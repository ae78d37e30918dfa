import type { Cluster } from '@corral/contracts';
import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { clustersQuery } from '../api/queries.js';
import { doing } from '../api/words.js';
import { useTeam } from '../shell/use-team.js';
import { costText } from '../ui/money.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { ClusterStatus, OperationStatus } from '../ui/status.js';
import { type ColumnsOf, Table } from '../ui/table.js';
import styles from './clusters.module.css';
import { HibernateButton } from './hibernation.js';
import { isMatch, nodesOf, waitingPoolsOf } from './summary.js';

/** All clusters of the team. */
export function ClustersPage() {
  const { slug, can } = useTeam();
  const clusters = useQuery(clustersQuery(slug));
  const navigate = useNavigate();
  const create = can('putCluster') && (
    <Button
      variant="filled"
      data-shortcut="n"
      onClick={() => void navigate({ to: '/teams/$team/clusters/+', params: { team: slug } })}
    >
      Create cluster
    </Button>
  );
  return (
    <Page actions={create}>
      <Loaded query={clusters} what="clusters">
        {(all) =>
          all.length === 0 ? <Empty>No clusters. A draft costs nothing.</Empty> : <ClusterTable clusters={all} />
        }
      </Loaded>
    </Page>
  );
}

function ClusterTable({ clusters }: { readonly clusters: readonly Cluster[] }) {
  const { slug: team } = useTeam();
  const navigate = useNavigate();
  const { filter = '' } = useSearch({ from: '/signed-in/teams/$team/clusters' });
  const setFilter = (text: string) =>
    void navigate({
      to: '/teams/$team/clusters',
      params: { team },
      search: text === '' ? {} : { filter: text },
      replace: true,
    });
  const rows = clusters.filter((cluster) => isMatch(cluster, filter));
  return (
    <>
      <TextInput
        aria-label="Filter clusters"
        placeholder="Filter by name, phase, version, region"
        maw="24rem"
        data-shortcut="/"
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
      />
      {rows.length === 0 ? (
        <Empty action={<Button onClick={() => setFilter('')}>Clear filter</Button>}>
          No cluster matches “{filter}”.
        </Empty>
      ) : (
        <Table
          caption="Clusters"
          columns={columnsOf(team)}
          rows={rows}
          rowKey={({ metadata }) => metadata.id}
          initialSort="Name"
        />
      )}
    </>
  );
}

const columnsOf = (team: string): ColumnsOf<Cluster> => ({
  Name: {
    isLong: true,
    sortBy: ({ metadata }) => metadata.name,
    cell: ({ metadata: { name } }) => (
      <Link to="/teams/$team/clusters/$name" params={{ team, name }} className={`mono ${styles.name}`}>
        {name}
      </Link>
    ),
  },
  Phase: {
    sortBy: ({ status }) => status.phase,
    cell: (cluster) => <ClusterStatus phase={cluster.status.phase} waits={waitingPoolsOf(cluster).length > 0} />,
  },
  Version: {
    sortBy: ({ spec }) => spec.kubernetesVersion,
    cell: ({ spec, status }) => <span className="mono">{status.kubernetes?.version ?? spec.kubernetesVersion}</span>,
  },
  'Nodes ready': { alignEnd: true, cell: (cluster) => nodesOf(cluster) },
  'Per month, net': { alignEnd: true, cell: ({ status: { cost } }) => costText(cost) },
  'Last operation': ({ status: { lastOperation } }) =>
    lastOperation === null ? (
      '–'
    ) : (
      <Link to="/teams/$team/operations/$id" params={{ team, id: lastOperation.id }} className={styles.operation}>
        {doing[lastOperation.kind]} <OperationStatus state={lastOperation.state} />
      </Link>
    ),
  Actions: (cluster) => <HibernateButton cluster={cluster} />,
});
