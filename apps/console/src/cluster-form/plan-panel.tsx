import { type FieldProblem, isCorralError } from '@corral/client';
import { type Cluster, type ClusterSpec, isOpenOperation } from '@corral/contracts';
import { Button, Group } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Ref, useRef, useState } from 'react';
import { clusterQuery, operationsQuery, teamKey } from '../api/queries.js';
import { doing } from '../api/words.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { clockOf } from '../ui/relative-time.js';
import { Failed } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { applyPlan, type Plan, type PlanTarget } from './plan.js';
import styles from './plan.module.css';
import { fieldName } from './plan-text.js';
import { PlanView } from './plan-view.js';
import type { Planning } from './use-plan.js';

export interface PlanPanelProps {
  readonly target: PlanTarget;
  /** The cluster as it was when the change began; null for a new one. */
  readonly began: Cluster | null;
  readonly planning: Planning;
  /** Names the effect, such as `Create web`. */
  readonly action: string;
  readonly onApplied: (operationId: string | null) => void;
  readonly onConflict: (current: Cluster) => void;
  /** Said instead of a plan when there is none to make. */
  readonly hint: string;
  /** Closes a dialog. */
  readonly onCancel?: () => void;
  /** Leads to the field at a JSON pointer. */
  readonly onReveal?: (pointer: string) => void;
  /** Leads to what is missing before there can be a plan. */
  readonly onNothingToPlan?: () => void;
}

/** The plan, and the button that applies exactly this one. Ctrl or ⌘ with Enter presses it. */
export function PlanPanel(props: PlanPanelProps) {
  const { target, began, planning, action, onApplied, onConflict, hint, onCancel, onReveal, onNothingToPlan } = props;
  const cache = useQueryClient();
  const { plan, error, isCurrent, checkedAt } = planning;
  const [changed, setChanged] = useState<{ readonly from: Plan; readonly to: Plan } | null>(null);
  const [isPressedEarly, setPressedEarly] = useState(false);
  const refusals = useRef<HTMLDivElement>(null);
  const hasChanged = changed !== null && plan !== null && JSON.stringify(changed.to.spec) === JSON.stringify(plan.spec);
  // The changed plan is shown until that of the page has caught up with the entity tag.
  const shown = hasChanged && plan.etag === changed.from.etag ? changed.to : plan;
  const isAnswerLost = useRef(false);
  const apply = useMutation({
    mutationFn: (chosen: Plan) =>
      applyPlan(target, chosen, { spec: began?.spec ?? null, mayBeAccepted: isAnswerLost.current }),
    onError: (failure) => {
      isAnswerLost.current = isCorralError(failure) && failure.isUnknownOutcome;
    },
    onSuccess: (applied, chosen) => {
      if (applied.kind === 'conflict') return onConflict(applied.current);
      if (applied.kind === 'plan-changed') return setChanged({ from: chosen, to: applied.plan });
      onApplied(applied.operationId);
      cache.setQueryData(clusterQuery(target.team, target.name).queryKey, applied.cluster);
      announce(`${action}: accepted`);
      void cache.invalidateQueries({ queryKey: teamKey(target.team) });
    },
    retry: false,
  });
  const press = () => {
    if (apply.isPending) return;
    setPressedEarly(shown === null || !isCurrent);
    if (shown !== null && isCurrent) {
      setChanged(null);
      return apply.mutate(shown);
    }
    if (shown === null && error === null) onNothingToPlan?.();
    const fields = isCorralError(error) ? error.errors : [];
    const [only] = fields;
    if (fields.length === 1 && only !== undefined && only.pointer !== '' && onReveal) onReveal(only.pointer);
    else refusals.current?.focus();
  };
  // Also from the fields of the form, and the editor.
  useHotkeys([['mod+Enter', ({ repeat }) => !repeat && press()]], [], true);
  return (
    <section className={styles.side} aria-label="Plan">
      <h2>Plan</h2>
      {shown === null && error === null ? (
        <p className="muted">{hint}</p>
      ) : (
        <p className="muted numeric">
          <span role="status">{isCurrent ? 'Checked' : 'Out of date, checking …'}</span>
          {isCurrent && ` ${clockOf(checkedAt)}`}
        </p>
      )}
      {hasChanged && <p role="alert">The plan has changed since you saw it. Read it again, then apply.</p>}
      {shown !== null && (
        <div className={isCurrent ? styles.plan : `${styles.plan} ${styles.outdated}`}>
          {began !== null && <Superseded cluster={began} plan={shown} />}
          <PlanView plan={shown} now={began?.status.cost ?? null} {...(hasChanged ? { former: changed.from } : {})} />
        </div>
      )}
      {error !== null && (
        <div className={isCurrent ? undefined : styles.outdated}>
          <Refusals
            ref={refusals}
            error={error}
            pools={poolNamesOf(planning.spec)}
            {...(onReveal === undefined ? {} : { onReveal })}
            onRetry={planning.repeat}
          />
        </div>
      )}
      {apply.error !== null && <Failed error={apply.error} what={failureOf(apply.error)} />}
      {isPressedEarly && error === null && !isCurrent && (
        <p role="alert">Nothing changes without a plan. Wait for it, or fix the fields.</p>
      )}
      <Group justify={onCancel === undefined ? 'flex-start' : 'flex-end'}>
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
        <Button variant="filled" loading={apply.isPending} onClick={press}>
          {action}
        </Button>
      </Group>
    </section>
  );
}

const poolNamesOf = (spec: unknown): string[] =>
  ((spec as Partial<ClusterSpec> | null)?.nodePools ?? []).map(({ name }) => name);

const failureOf = (error: unknown): string =>
  isCorralError(error) && error.isUnknownOutcome
    ? 'It is not known whether the change was accepted. Apply it again: it is checked first, and never applied twice.'
    : 'The change was not accepted. What you typed is still here.';

/** The operation that an accepted change ends early. */
function Superseded({ cluster, plan }: { readonly cluster: Cluster; readonly plan: Plan }) {
  const { slug: team } = useTeam();
  const { lastOperation } = cluster.status;
  const isUnderWay = lastOperation !== null && isOpenOperation(lastOperation);
  const operations = useQuery({ ...operationsQuery(team, cluster.metadata.id), enabled: isUnderWay });
  if (!isUnderWay || plan.answer.changes.length === 0) return null;
  const operation = operations.data?.find(({ id }) => id === lastOperation.id);
  const person = operation === undefined ? null : (operation.createdBy?.displayName ?? 'Corral');
  return (
    <p>
      <Status tone="warning">Replaces a change under way</Status>
      {operation !== undefined && ` “${doing[operation.kind]}” by ${person} is at ${operation.progress} %.`}
    </p>
  );
}

interface RefusalsProps {
  readonly error: unknown;
  /** The names of the pools that were declared. */
  readonly pools: readonly string[];
  readonly onReveal?: (pointer: string) => void;
  readonly onRetry: () => void;
  readonly ref?: Ref<HTMLDivElement>;
}

/** Why a change would be refused: every reason, and the way to its field. */
function Refusals({ error, pools, onReveal, onRetry, ref }: RefusalsProps) {
  const hasFields =
    isCorralError(error) && error.errors.some(({ pointer, detail }) => pointer !== '' || detail !== undefined);
  if (!isCorralError(error) || !hasFields) {
    const isTemporary = isCorralError(error) && (error.status === 0 || error.status === 429 || error.status >= 500);
    return (
      <div ref={ref} tabIndex={-1}>
        <Failed
          error={error}
          what={isTemporary ? 'The plan could not be made.' : 'This would be refused.'}
          {...(isTemporary ? { onRetry } : {})}
        />
      </div>
    );
  }
  return (
    <section ref={ref} tabIndex={-1} aria-label="Reasons for a refusal" className={styles.refusals}>
      <strong>This would be refused.</strong>
      <ul className={styles.list}>
        {error.errors.map((field) => (
          <li key={`${field.pointer} ${field.message}`}>
            <Refusal field={field} pools={pools} {...(onReveal === undefined ? {} : { onReveal })} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface RefusalProps {
  readonly field: FieldProblem;
  readonly pools: readonly string[];
  readonly onReveal?: (pointer: string) => void;
}

function Refusal({ field, pools, onReveal }: RefusalProps) {
  const { pointer, message, detail } = field;
  if (pointer === '') return detail ?? message;
  const name = fieldName(pointer, pools);
  return (
    <>
      {onReveal === undefined ? (
        <strong>{name}</strong>
      ) : (
        <button type="button" className={styles.reveal} onClick={() => onReveal(pointer)}>
          {name}
        </button>
      )}
      : {message}
    </>
  );
}
