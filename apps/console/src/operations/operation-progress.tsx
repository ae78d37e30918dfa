import { newIdempotencyKey } from '@corral/client';
import { type Cluster, isOpenOperation, type Operation, operationErrorCodes } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { conditionNameOf, conditionText, doing, healthOf } from '../api/words.js';
import { useTeam } from '../shell/use-team.js';
import { plural } from '../ui/plural.js';
import { Failed } from '../ui/states.js';
import { Meter, OperationStatus, Status } from '../ui/status.js';
import { Lasting, Time } from '../ui/time.js';
import styles from './operations.module.css';

export interface OperationProgressProps {
  readonly operation: Operation;
  /** The target; null unless it is a cluster that still exists. */
  readonly cluster: Cluster | null;
}

/** What an operation does, how far it is, what it waits for, and who has to act. */
export function OperationProgress({ operation, cluster }: OperationProgressProps) {
  const { kind, target, state, createdAt, createdBy, error } = operation;
  return (
    <div className={styles.progress}>
      <p>
        <OperationStatus state={state} /> {doing[kind]} <span className="mono">{target.name}</span>, by{' '}
        {createdBy?.displayName ?? 'Corral'}, <Time at={createdAt} />
      </p>
      {isOpenOperation(operation) && <Advance operation={operation} />}
      {error.message !== undefined && <OperationFailure key={operation.id} operation={operation} cluster={cluster} />}
      {isOpenOperation(operation) && cluster !== null && <Steps cluster={cluster} />}
    </div>
  );
}

function Advance({ operation: { kind, target, progress, waiting, updatedAt } }: { readonly operation: Operation }) {
  return (
    <>
      <Meter percent={progress} label={`Progress of ${doing[kind]} ${target.name}`} />
      <p className="muted numeric">
        {progress} %, last news <Time at={updatedAt} />.{waiting === null && ' Nothing to do for you.'}
      </p>
      {waiting !== null && (
        <p>
          <Status tone="warning">Waits</Status> {waiting.message}{' '}
          <span className="muted">
            <Lasting since={waiting.since} />
          </span>
        </p>
      )}
    </>
  );
}

function OperationFailure({ operation, cluster }: OperationProgressProps) {
  const cache = useQueryClient();
  const { slug: team, can } = useTeam();
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
      {retryable === true && can('retryCluster') && isNewest && cluster !== null && (
        <Button loading={retry.isPending} onClick={() => retry.mutate(cluster)}>
          Retry {operation.target.name}
        </Button>
      )}
      {retry.error !== null && <Failed error={retry.error} what="The operation was not retried." />}
    </div>
  );
}

const stepTones = { well: 'good', ill: 'running', unknown: 'running', asleep: 'idle' } as const;

/** What is reached already, and what is still to come. */
function Steps({ cluster: { metadata, status } }: { readonly cluster: Cluster }) {
  return (
    <ul className={styles.steps} aria-label={`Steps of ${metadata.name}`}>
      {status.conditions.slice(0, STEPS).map((condition) => (
        <li key={condition.type}>
          <Status tone={stepTones[healthOf(condition)]}>{conditionNameOf(condition.type)}</Status>
        </li>
      ))}
    </ul>
  );
}

/** The conditions of the garden come after those of this service. */
const STEPS = 5;

/** The checks of a cluster: what fails stands open, and the others are in a fold. */
export function Health({ cluster }: { readonly cluster: Cluster }) {
  const { conditions } = cluster.status;
  const failing = conditions.filter((each) => healthOf(each) === 'ill' || healthOf(each) === 'unknown');
  const others = conditions.filter((each) => !failing.includes(each));
  if (conditions.length === 0) return <p className="muted">Nothing was checked yet.</p>;
  const passed =
    failing.length === 0
      ? others.length === 1
        ? 'The only check passes'
        : `All ${others.length} checks pass`
      : `${plural(others.length, 'other check')} ${others.length === 1 ? 'passes' : 'pass'}`;
  return (
    <>
      {failing.length > 0 && <Checks conditions={failing} label={`Failing checks of ${cluster.metadata.name}`} />}
      {others.length > 0 && (
        <details>
          <summary>{passed}</summary>
          <Checks conditions={others} label={`Other checks of ${cluster.metadata.name}`} />
        </details>
      )}
    </>
  );
}

interface ChecksProps {
  readonly conditions: Cluster['status']['conditions'];
  readonly label: string;
}

function Checks({ conditions, label }: ChecksProps) {
  return (
    <ul className={styles.conditions} aria-label={label}>
      {conditions.map((condition) => (
        <li key={condition.type}>
          <strong className={styles[healthOf(condition)]}>{conditionNameOf(condition.type)}</strong>
          <span>
            {conditionText(condition)}{' '}
            <span className="muted">
              <Lasting since={condition.lastTransitionTime} />
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
