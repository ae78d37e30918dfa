import { newIdempotencyKey } from '@corral/client';
import type { Cluster, Operation } from '@corral/contracts';
import { operationErrorCodes } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { Failed } from '../ui/states.js';
import { Meter, OperationStatus, Status } from '../ui/status.js';
import { Time } from '../ui/time.js';
import styles from './operations.module.css';

export interface OperationProgressProps {
  readonly team: string;
  readonly operation: Operation;
  /** The target; null unless it is a cluster that still exists. */
  readonly cluster: Cluster | null;
}

/** How far an operation is, what it waits for, and who has to act. */
export function OperationProgress({ team, operation, cluster }: OperationProgressProps) {
  const { kind, target, state, progress, waiting, createdAt, createdBy, updatedAt, error } = operation;
  return (
    <div className={styles.progress}>
      <p>
        <OperationStatus state={state} /> <span className="mono">{kind}</span> by {createdBy?.displayName ?? 'Corral'},{' '}
        <Time at={createdAt} />
      </p>
      <Meter percent={progress} label={`Progress of ${kind} of ${target.name}`} />
      <p className="muted numeric">
        {progress} %, last news <Time at={updatedAt} />
      </p>
      {waiting !== null && (
        <p>
          <Status tone="warning">{waiting.reason}</Status> {waiting.message} Since <Time at={waiting.since} />.
        </p>
      )}
      {error.message !== undefined && (
        <OperationFailure key={operation.id} team={team} operation={operation} cluster={cluster} />
      )}
      {cluster !== null && <Conditions cluster={cluster} />}
    </div>
  );
}

function OperationFailure({ team, operation, cluster }: OperationProgressProps) {
  const cache = useQueryClient();
  const { code, message, hint, retryable } = operation.error;
  const fault = Object.entries(operationErrorCodes).find(([each]) => each === code)?.[1].fault;
  const [key] = useState(newIdempotencyKey);
  const retry = useMutation({
    // The retry has no entity tag: that also moves with the status, and a retry changes no specification.
    mutationFn: ({ metadata: { name } }: Cluster) => corral.retryCluster({ team, name }, { idempotencyKey: key }),
    onSettled: () => cache.invalidateQueries({ queryKey: teamKey(team) }),
  });
  const isNewest = cluster?.status.lastOperation?.id === operation.id;
  return (
    <div className={styles.failure}>
      <strong>{message}</strong>
      {hint !== undefined && <p>{hint}</p>}
      <p className="muted">
        {fault === 'platform' ? 'The operator of the service has to act.' : 'Your team has to act.'}
      </p>
      {retryable === true && isNewest && cluster !== null && (
        <Button loading={retry.isPending} onClick={() => retry.mutate(cluster)}>
          Retry {operation.target.name}
        </Button>
      )}
      {retry.error !== null && <Failed error={retry.error} what="The operation was not retried." />}
    </div>
  );
}

const conditionTones = { True: 'good', False: 'warning', Unknown: 'idle' } as const;

/** The observed facts behind the phase of a cluster. */
export function Conditions({ cluster }: { readonly cluster: Cluster }) {
  if (cluster.status.conditions.length === 0) return <p className="muted">Nothing was observed yet.</p>;
  return (
    <ul className={styles.conditions} aria-label={`Conditions of ${cluster.metadata.name}`}>
      {cluster.status.conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
        <li key={type}>
          <Status tone={conditionTones[status]}>{type}</Status>
          <span>
            {message === '' ? reason : message}{' '}
            <span className="muted">
              since <Time at={lastTransitionTime} />
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
