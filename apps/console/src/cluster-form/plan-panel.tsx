import type { Cluster } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isProblem } from '../api/problem.js';
import { clusterQuery, teamKey } from '../api/queries.js';
import { announce } from '../ui/announcer.js';
import { clockOf } from '../ui/relative-time.js';
import { Failed } from '../ui/states.js';
import { applyPlan, type Plan, type PlanTarget } from './plan.js';
import styles from './plan.module.css';
import { PlanView, Refusals } from './plan-view.js';
import type { Planning } from './use-plan.js';

export interface PlanPanelProps {
  readonly target: PlanTarget;
  /** As it was when the change began; null for a new cluster. */
  readonly began: Cluster | null;
  readonly planning: Planning;
  /** Names the effect, such as `Create web`. */
  readonly action: string;
  readonly onApplied: (operationId: string | null) => void;
  readonly onConflict: (current: Cluster) => void;
  /** Said instead of a plan when there is none to make. */
  readonly hint: string;
}

/** The plan, and the button that applies exactly this one. */
export function PlanPanel({ target, began, planning, action, onApplied, onConflict, hint }: PlanPanelProps) {
  const cache = useQueryClient();
  const { plan, error, isCurrent, checkedAt, repeat } = planning;
  const [changed, setChanged] = useState<Plan | null>(null);
  const [isPressedEarly, setPressedEarly] = useState(false);
  const shown = changed !== null && plan !== null && changed.spec === plan.spec ? changed : plan;
  const apply = useMutation({
    mutationFn: (chosen: Plan) => applyPlan(target, chosen, began?.spec ?? null),
    onSuccess: (applied) => {
      if (applied.kind === 'conflict') return onConflict(applied.current);
      if (applied.kind === 'plan-changed') return setChanged(applied.plan);
      onApplied(applied.operationId);
      cache.setQueryData(clusterQuery(target.team, target.name).queryKey, applied.cluster);
      announce(`${action}: accepted`);
      void cache.invalidateQueries({ queryKey: teamKey(target.team) });
    },
    retry: false,
  });
  const isOutdated = isProblem(error) && error.status === 412;
  const press = () => {
    if (shown === null || !isCurrent) return setPressedEarly(true);
    setPressedEarly(false);
    apply.mutate(shown);
  };
  return (
    <section className={styles.side} aria-label="Plan">
      <h2>Plan</h2>
      {shown === null && error === null && <p className="muted">{hint}</p>}
      {shown !== null && (
        <>
          <p className="muted" role="status">
            {isCurrent ? `Checked ${clockOf(checkedAt)}` : 'Out of date, checking …'}
          </p>
          {changed !== null && <p role="alert">The plan has changed since you saw it. Read it again, then apply.</p>}
          <div className={isCurrent ? undefined : styles.outdated}>
            <PlanView plan={shown} now={began?.status.cost ?? null} />
          </div>
        </>
      )}
      {error !== null && !isOutdated && <Refusals error={error} />}
      {isOutdated && <Failed error={error} what="The cluster has changed since you began." onRetry={repeat} />}
      {apply.error !== null && <Failed error={apply.error} what={failureOf(apply.error)} />}
      {isPressedEarly && !isCurrent && (
        <p role="alert">Nothing changes without a plan. Wait for it, or fix the fields.</p>
      )}
      <Button variant="filled" loading={apply.isPending} onClick={press}>
        {action}
      </Button>
    </section>
  );
}

const failureOf = (error: unknown): string =>
  isProblem(error) && error.isUnknownOutcome
    ? 'It is not known whether the change was accepted. Check the operations of the cluster before you apply it again.'
    : 'The change was not accepted. What you typed is kept.';
