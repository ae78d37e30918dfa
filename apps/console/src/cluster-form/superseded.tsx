import type { Cluster } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { operationsQuery } from '../api/queries.js';
import { Status } from '../ui/status.js';
import type { Plan } from './plan.js';

export interface SupersededProps {
  readonly team: string;
  readonly cluster: Cluster;
  readonly plan: Plan;
}

/** The operation that an accepted change ends early. */
export function Superseded({ team, cluster, plan }: SupersededProps) {
  const { lastOperation } = cluster.status;
  const isUnderWay = lastOperation?.state === 'queued' || lastOperation?.state === 'running';
  const operations = useQuery({ ...operationsQuery(team, cluster.metadata.id), enabled: isUnderWay });
  if (!isUnderWay || plan.answer.changes.length === 0) return null;
  const operation = operations.data?.find(({ id }) => id === lastOperation.id);
  const person = operation === undefined ? null : (operation.createdBy?.displayName ?? 'the service');
  return (
    <p>
      <Status tone="warning">{`Supersedes ${lastOperation.kind}`}</Status>
      {operation !== undefined && ` of ${person} (${operation.progress} %)`}
    </p>
  );
}
