import { type AdoptedServer, type Cluster, isOpenOperation, joinsByCommand } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { operationQuery, serversQuery } from '../api/queries.js';
import { JoinCommandDialog } from '../connections/join-command-dialog.js';
import { OperationProgress } from '../operations/operation-progress.js';
import { useTeam } from '../shell/use-team.js';
import { plural } from '../ui/plural.js';
import styles from './clusters.module.css';
import { HibernateButton } from './hibernation.js';
import { PoolDialog } from './pool-dialog.js';
import { waitingPoolsOf } from './summary.js';

interface NowProps {
  readonly cluster: Cluster;
}

/** What happens to the cluster at this moment, or keeps it from working, and who has to act. Nothing when all is well. */
export function Now({ cluster }: NowProps) {
  const { slug: team, can } = useTeam();
  const { lastOperation, phase } = cluster.status;
  const isTold = lastOperation !== null && (isOpenOperation(lastOperation) || lastOperation.state === 'failed');
  const operation = useQuery({ ...operationQuery(team, lastOperation?.id ?? ''), enabled: isTold }).data;
  const [isAdding, setAdding] = useState(false);
  const waiting = waitingPoolsOf(cluster);
  if (isTold) {
    return operation === undefined ? null : (
      <Box>
        <OperationProgress operation={operation} cluster={cluster} />
      </Box>
    );
  }
  if (phase === 'Draft') {
    return (
      <Box>
        A draft, which costs nothing. It starts with its first managed pool.{' '}
        {can('putCluster') && <Button onClick={() => setAdding(true)}>Add the first pool</Button>}
        {isAdding && <PoolDialog cluster={cluster} pool={null} onClose={() => setAdding(false)} />}
      </Box>
    );
  }
  if (phase === 'Hibernated') {
    return (
      <Box>
        Shut down. Volumes and the specification stay. <HibernateButton cluster={cluster} />
      </Box>
    );
  }
  if (waiting.length === 0) return null;
  return (
    <Box>
      {waiting.map(({ pool, missing }) => (
        <Waiting key={pool} cluster={cluster} pool={pool} missing={missing} />
      ))}
    </Box>
  );
}

const Box = ({ children }: { readonly children: ReactNode }) => (
  <section aria-label="Now" className={styles.now}>
    {children}
  </section>
);

interface WaitingProps extends NowProps {
  readonly pool: string;
  readonly missing: number;
}

/** A pool that waits for machines of the team. */
function Waiting({ cluster, pool, missing }: WaitingProps) {
  const { slug: team, can } = useTeam();
  const [joining, setJoining] = useState<AdoptedServer | null>(null);
  const ref = cluster.spec.connectionRef;
  const servers = useQuery(serversQuery(team, ref)).data ?? [];
  const { name } = cluster.metadata;
  const claimed = servers.filter(
    ({ status: { claimedBy, phase } }) =>
      claimedBy?.cluster === name && claimedBy.nodePool === pool && (phase === 'Adopting' || phase === 'Joining'),
  );
  const names = claimed.map(({ metadata }) => metadata.name).join(', ');
  return (
    <div>
      <span className="mono">{pool}</span> waits for {names === '' ? plural(missing, 'machine') : `machine ${names}`}.{' '}
      {claimed.length === 0
        ? can('adoptServer') && (
            <Link to="/teams/$team/connections/$ref" params={{ team, ref }}>
              Adopt a server
            </Link>
          )
        : can('issueJoinCommand') &&
          claimed
            .filter(({ spec }) => joinsByCommand(spec.serverKind))
            .map((server) => (
              <Button key={server.metadata.id} onClick={() => setJoining(server)}>
                Get the join command of {server.metadata.name}
              </Button>
            ))}
      {joining !== null && <JoinCommandDialog connectionRef={ref} server={joining} onClose={() => setJoining(null)} />}
    </div>
  );
}
