import type { Cluster } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { clusterQuery, operationsQuery } from '../api/queries.js';
import { textOf } from '../cluster-form/spec-document.js';
import { Conditions, OperationProgress } from '../operations/operation-progress.js';
import { teamPath } from '../shell/navigation.js';
import { useTeam } from '../shell/use-team.js';
import { Snippet } from '../ui/copy.js';
import { costText } from '../ui/money.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { ClusterStatus, OperationStatus } from '../ui/status.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { AccessTab } from './access-tab.js';
import styles from './clusters.module.css';
import { DangerTab } from './danger-tab.js';
import { HibernateButton } from './hibernation.js';
import { PoolsTab } from './pools-tab.js';
import { nodesOf } from './summary.js';

const tabs = [
  ['overview', 'Overview'],
  ['pools', 'Pools'],
  ['operations', 'Operations'],
  ['access', 'Access'],
  ['spec', 'Specification'],
  ['danger', 'Danger'],
] as const;

/** One cluster, a section per tab. Each tab has its own address. */
export function ClusterPage() {
  const { slug } = useTeam();
  const params = useParams({ strict: false });
  const navigate = useNavigate();
  const name = params.name ?? '';
  const tab = params.tab ?? 'overview';
  const cluster = useQuery(clusterQuery(slug, name));
  const actions = cluster.data !== undefined && cluster.data.status.phase !== 'Deleting' && (
    <>
      <Button
        variant="filled"
        data-shortcut="e"
        onClick={() => void navigate({ to: '/teams/$team/clusters/$name/change', params: { team: slug, name } })}
      >
        Change
      </Button>
      <HibernateButton team={slug} cluster={cluster.data} />
    </>
  );
  return (
    <Page
      title={name}
      crumbs={[{ label: 'Clusters', to: teamPath(slug, '/clusters') }]}
      aside={cluster.data && <ClusterStatus phase={cluster.data.status.phase} />}
      actions={actions}
    >
      <nav aria-label={`Sections of ${name}`} className={styles.tabs}>
        {tabs.map(([id, label]) => (
          <Link
            key={id}
            to={teamPath(slug, `/clusters/${name}${id === 'overview' ? '' : `/${id}`}`)}
            aria-current={tab === id ? 'page' : undefined}
            activeOptions={{ exact: true }}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Loaded query={cluster} what="the cluster">
        {(found) => <Tab key={tab} team={slug} cluster={found} tab={tab} />}
      </Loaded>
    </Page>
  );
}

interface TabProps {
  readonly team: string;
  readonly cluster: Cluster;
}

function Tab({ tab, ...props }: TabProps & { readonly tab: string }) {
  switch (tab) {
    case 'overview':
      return <Overview {...props} />;
    case 'pools':
      return <PoolsTab {...props} />;
    case 'operations':
      return <Operations {...props} />;
    case 'access':
      return <AccessTab {...props} />;
    case 'spec':
      return <Snippet label="specification" text={textOf(props.cluster.spec)} />;
    case 'danger':
      return <DangerTab {...props} />;
    default:
      return <Empty>There is no such section. Choose one above.</Empty>;
  }
}

function Overview({ team, cluster }: TabProps) {
  const { spec, status, metadata } = cluster;
  const operations = useQuery(operationsQuery(team, metadata.id));
  const newest = operations.data?.find(({ id }) => id === status.lastOperation?.id);
  const showsOperation = newest !== undefined && ['queued', 'running', 'failed'].includes(newest.state);
  return (
    <>
      <p className="numeric">
        {spec.region}, Kubernetes <span className="mono">{status.kubernetes?.version ?? spec.kubernetesVersion}</span>,
        nodes: {nodesOf(cluster)}, {costText(status.cost)} per month, net
      </p>
      {status.phase === 'Draft' && <Empty>A draft. Add a managed pool to start it.</Empty>}
      <Section title={showsOperation ? 'Under way' : 'Conditions'}>
        {showsOperation ? (
          <OperationProgress team={team} operation={newest} cluster={cluster} />
        ) : (
          <Conditions cluster={cluster} />
        )}
      </Section>
    </>
  );
}

function Operations({ team, cluster }: TabProps) {
  const operations = useQuery(operationsQuery(team, cluster.metadata.id));
  return (
    <Loaded query={operations} what="operations">
      {(all) => (
        <Table
          caption="Operations, newest first"
          rows={all}
          rowKey={({ id }) => id}
          columns={[
            {
              id: 'kind',
              label: 'Operation',
              cell: ({ id, kind }) => (
                <Link to="/teams/$team/operations/$id" params={{ team, id }}>
                  {kind}
                </Link>
              ),
            },
            { id: 'state', label: 'State', cell: ({ state }) => <OperationStatus state={state} /> },
            { id: 'by', label: 'By', isLong: true, cell: ({ createdBy }) => createdBy?.displayName ?? 'Corral' },
            { id: 'at', label: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
            { id: 'error', label: 'Error', isLong: true, cell: ({ error }) => error.message ?? '–' },
          ]}
        />
      )}
    </Loaded>
  );
}
