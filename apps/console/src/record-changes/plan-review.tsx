import type { ChangePlan } from '@corral/domain';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { plural } from '../ui/plural.js';
import { ChangeList } from './change-list.js';
import { planText } from './change-texts.js';
import styles from './changes.module.css';

interface PlanReviewProps {
  readonly plan: ChangePlan;
  /** Records that the team may have. */
  readonly limit: number;
  readonly onApply: () => void;
}

/** A plan before it is applied. The button stays enabled, and says why nothing can be applied. */
export function PlanReview({ plan, limit, onApply }: PlanReviewProps) {
  const [isPressed, setPressed] = useState(false);
  const { refused, quotaProblem, warnings } = plan;
  const changes = plan.waves.flat();
  const obstacle = quotaProblem ?? (changes.length === 0 ? 'There is nothing to apply.' : null);
  return (
    <div className={styles.panel}>
      <p role="status" className="numeric">
        {planText(plan, limit)}
      </p>
      {quotaProblem !== null && (
        <p role="alert" className={styles.refusal}>
          {quotaProblem}
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning}>{warning}</p>
      ))}
      {refused.length > 0 && <ChangeList caption="Refused" changes={refused} />}
      {changes.length > 0 && <ChangeList caption="Changes" changes={changes} />}
      <p className="muted">
        Record sets are changed one by one, not all together: each can fail by itself, and what is done stays.
      </p>
      <div className={styles.buttons}>
        <Button variant="filled" onClick={() => (obstacle === null ? onApply() : setPressed(true))}>
          {`Apply ${plural(changes.length, 'change')}`}
        </Button>
      </div>
      {isPressed && obstacle !== null && <p role="alert">{obstacle}</p>}
    </div>
  );
}
