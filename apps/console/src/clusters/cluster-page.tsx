import { isCorralError } from '@corral/client';
import type { Cluster } from '@corral/contracts';
import { ActionIcon, Button, Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Ellipsis } from 'lucide-react';
import { useState } from 'react';
import { catalogueQuery, clusterQuery, operationsQuery } from '../api/queries.js';
import { regionText } from '../api/words.js';
import { textOf } from '../cluster-form/spec-document.js';
import { Health } from '../operations/operation-progress.js';
import { useTeam } from '../shell/use-team.js';
import { Snippet } from '../ui/copy.js';
import { Facts } from '../ui/facts.js';
import { costText } from '../ui/money.js';
import { Page, Section } from '../ui/page.js';
import { clockOf, dayOf } from '../ui/relative-time.js';
import { Empty, Loaded, Loading } from '../ui/states.js';
import { ClusterStatus } from '../ui/status.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { Activity } from './activity.js';
import { Connect } from './connect.js';
import { DeleteCluster } from './delete-cluster.js';
import { HibernationDialog, hibernationOf } from './hibernation.js';
import { Names } from './names.js';
import { Now } from './now-box.js';
import { PlannedChangeDialog } from './planned-change-dialog.js';
import { Pools } from './pools.js';
import { Sleep } from './sleep.js';
import { nodesOf, upgradeOf, waitingPoolsOf } from './summary.js';

/** One cluster on one page: is it well, what does it cost, how does one get in. */
export function ClusterPage() {
  const { slug, can } = useTeam();
  const name = useParams({ strict: false }).name ?? '';
  const navigate = useNavigate();
  const cluster = useQuery(clusterQuery(slug, name));
  const found = cluster.data;
  // A retry and a deletion take away the control that was pressed.
  useFocusKept('h1', `${found?.status.phase} ${found?.status.lastOperation?.state}`);
  const isGone = found === undefined && isCorralError(cluster.error) && cluster.error.status === 404;
  const isDeleting = found?.status.phase === 'Deleting';
  const isStarted = found !== undefined && found.status.phase !== 'Draft';
  return (
    <Page
      title={name}
      aside={found && <ClusterStatus phase={found.status.phase} waits={waitingPoolsOf(found).length > 0} />}
      actions={
        found !== undefined &&
        !isDeleting && (
          <>
            {isStarted && <Connect cluster={found} />}
            {can('putCluster') && (
              <>
                <Button
                  data-shortcut="e"
                  onClick={() =>
                    void navigate({ to: '/teams/$team/clusters/$name/change', params: { team: slug, name } })
                  }
                >
                  Change
                </Button>
                <MoreMenu cluster={found} />
              </>
            )}
          </>
        )
      }
    >
      {isGone ? (
        <Gone name={name} />
      ) : (
        <Loaded query={cluster} what="the cluster">
          {(shown) => <ClusterContent cluster={shown} />}
        </Loaded>
      )}
    </Page>
  );
}

interface ClusterProps {
  readonly cluster: Cluster;
}

function ClusterContent({ cluster }: ClusterProps) {
  return (
    <>
      <ClusterFacts cluster={cluster} />
      <Now cluster={cluster} />
      <Pools cluster={cluster} />
      <Sleep cluster={cluster} />
      <Names cluster={cluster} />
      <Section title="Health">
        <Health cluster={cluster} />
      </Section>
      <Activity cluster={cluster} />
      <details>
        <summary>Specification as YAML</summary>
        <Snippet label="specification" text={textOf(cluster.spec)} />
      </details>
    </>
  );
}

function ClusterFacts({ cluster }: ClusterProps) {
  const { spec, status } = cluster;
  return (
    <Facts
      facts={[
        { label: 'Region', value: regionText(spec.region) },
        { label: 'Kubernetes', value: <Version cluster={cluster} /> },
        { label: 'Nodes ready', value: <span className="numeric">{nodesOf(cluster)}</span> },
        { label: 'Cost per month, net', value: <span className="numeric">{costText(status.cost)}</span> },
      ]}
    />
  );
}

/** The version in use, and the way to a newer one: its plan says what it replaces. */
function Version({ cluster }: ClusterProps) {
  const { spec, status } = cluster;
  const { slug: team, can } = useTeam();
  const [isOpen, setOpen] = useState(false);
  const catalogue = useQuery(catalogueQuery(team, spec.connectionRef)).data;
  const present = status.kubernetes?.version ?? spec.kubernetesVersion;
  const upgrade = upgradeOf(present, catalogue?.kubernetesVersions ?? []);
  const isPossible = upgrade !== null && can('putCluster') && status.phase !== 'Deleting';
  return (
    <>
      <span className="mono">{present}</span>{' '}
      {isPossible && (
        <Button size="compact-xs" onClick={() => setOpen(true)}>
          {upgrade.isMinor ? `${upgrade.version} is available` : 'A patch is available'}
        </Button>
      )}
      {isOpen && isPossible && (
        <PlannedChangeDialog
          cluster={cluster}
          spec={{ ...(spec as Parameters<typeof PlannedChangeDialog>[0]['spec']), kubernetesVersion: upgrade.version }}
          action={`Upgrade ${cluster.metadata.name} to ${upgrade.version}`}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

/** What one does rarely. */
function MoreMenu({ cluster }: ClusterProps) {
  const { slug: team } = useTeam();
  const [open, setOpen] = useState<'Hibernate' | 'Resume' | 'deletion' | null>(null);
  const navigate = useNavigate();
  const { name } = cluster.metadata;
  const hibernation = hibernationOf(cluster);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={`More actions of ${name}`}>
            <Ellipsis size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {hibernation !== null && <Menu.Item onClick={() => setOpen(hibernation)}>{`${hibernation}…`}</Menu.Item>}
          <Menu.Item
            onClick={() => void navigate({ to: '/teams/$team/clusters/+', params: { team }, search: { like: name } })}
          >
            Duplicate…
          </Menu.Item>
          <Menu.Item color="red" onClick={() => setOpen('deletion')}>
            Delete…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {(open === 'Hibernate' || open === 'Resume') && hibernation !== null && (
        <HibernationDialog cluster={cluster} verb={open} onClose={() => setOpen(null)} />
      )}
      {open === 'deletion' && <DeleteCluster cluster={cluster} onClose={() => setOpen(null)} />}
    </>
  );
}

/** There is no such cluster: who deleted it, if one of this name was deleted. */
function Gone({ name }: { readonly name: string }) {
  const { slug: team } = useTeam();
  const operations = useQuery(operationsQuery(team, name));
  if (operations.data === undefined && operations.error === null) return <Loading what="what became of it" />;
  const deletion = operations.data?.find(({ kind, state }) => kind === 'cluster.delete' && state === 'succeeded');
  const link = (
    <Link to="/teams/$team/clusters" params={{ team }}>
      All clusters
    </Link>
  );
  if (deletion === undefined) return <Empty action={link}>There is no cluster {name} in this team.</Empty>;
  const at = Date.parse(deletion.updatedAt);
  return (
    <Empty action={link}>
      {name} was deleted on {dayOf(at)} at {clockOf(at).slice(0, 5)} by {deletion.createdBy?.displayName ?? 'Corral'}.
    </Empty>
  );
}
