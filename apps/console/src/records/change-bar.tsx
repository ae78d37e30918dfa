import type { Rrset } from '@corral/contracts';
import { type ChangePlan, contentOf, type WantedSet } from '@corral/domain';
import { Button, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { planText } from '../record-changes/change-texts.js';
import { plural } from '../ui/plural.js';
import styles from './records.module.css';

interface ChangeBarProps {
  /** The selected sets of those that are shown. */
  readonly picked: readonly Rrset[];
  readonly onStage: (sets: readonly WantedSet[]) => void;
  readonly onSelectNone: () => void;
  /** What is staged, planned; null when nothing is. */
  readonly plan: ChangePlan | null;
  readonly limit: number;
  readonly onApply: (plan: ChangePlan) => void;
  readonly onReview: () => void;
  readonly onDiscard: () => void;
  /** A run that is there, shown instead of the plan. */
  readonly run: ReactNode;
  /** Shown when there is nothing to do. */
  readonly status: ReactNode;
}

/** What can be done with selected and staged sets. It has its place always, so that nothing moves when it is needed. */
export function ChangeBar(props: ChangeBarProps) {
  const { picked, onStage, onSelectNone, plan, limit, onApply, onReview, onDiscard, run, status } = props;
  const changes = plan?.waves.flat() ?? [];
  const isClear = plan !== null && plan.refused.length + plan.warnings.length === 0 && plan.quotaProblem === null;
  return (
    <section className={styles.bar} aria-label="Changes">
      {picked.length > 0 && <Selection picked={picked} onStage={onStage} onSelectNone={onSelectNone} />}
      {run}
      {run === null && plan !== null && (
        <>
          <span role="status" className="numeric">
            {planText(plan, limit)}
          </span>
          <Button variant="filled" onClick={() => (isClear && changes.length > 0 ? onApply(plan) : onReview())}>
            {`Apply ${plural(changes.length, 'change')}`}
          </Button>
          <Button onClick={onReview}>Review</Button>
          <Button onClick={onDiscard}>Discard</Button>
        </>
      )}
      {run === null && plan === null && picked.length === 0 && (
        <span className={`muted numeric ${styles.status}`}>{status}</span>
      )}
    </section>
  );
}

/** All of it is staged, and planned before it is done. */
function Selection({ picked, onStage, onSelectNone }: Pick<ChangeBarProps, 'picked' | 'onStage' | 'onSelectNone'>) {
  const [ttl, setTtl] = useState('');
  const stage = (contentFor: (rrset: Rrset) => WantedSet['content']) => {
    onStage(
      picked.map((rrset) => {
        const { name, type } = rrset;
        return { name, type, content: contentFor(rrset), seen: contentOf(rrset) };
      }),
    );
    onSelectNone();
  };
  const seconds = ttl === '' ? null : Number(ttl);
  return (
    <fieldset className={styles.selection} aria-label="Selected record sets">
      <strong>{`${picked.length} selected`}</strong>
      <Button onClick={() => stage(() => null)}>Remove</Button>
      <TextInput
        aria-label="TTL in seconds for the selected sets"
        placeholder="TTL, default"
        inputMode="numeric"
        value={ttl}
        onChange={(event) => setTtl(event.currentTarget.value.replace(/\D/g, ''))}
        w="7rem"
      />
      <Button onClick={() => stage((rrset) => ({ ...contentOf(rrset), ttl: seconds }))}>Change TTL</Button>
      <Button onClick={onSelectNone}>Clear selection</Button>
    </fieldset>
  );
}
