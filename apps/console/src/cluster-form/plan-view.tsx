import type { ChangeEffect, Cost, FieldChange, PoolEffect } from '@corral/contracts';
import type { ReactNode } from 'react';
import { costDifferenceText, costText } from '../ui/money.js';
import { plural } from '../ui/plural.js';
import { RecordSetsLost } from '../ui/record-sets-lost.js';
import { Status } from '../ui/status.js';
import { isSame, type Plan } from './plan.js';
import styles from './plan.module.css';
import { changeSentence, sentAt } from './plan-text.js';

export interface PlanViewProps {
  readonly plan: Plan;
  /** The cost before the change; null for a new cluster. */
  readonly now: Cost | null;
  /** The plan that was shown before: what differs from it is marked. */
  readonly former?: Plan;
}

/** What a change does: fields, nodes, cost. */
export function PlanView({ plan, now, former }: PlanViewProps) {
  const { changes, effects, cost, resource, recordSets } = plan.answer;
  const pools = resource.spec.nodePools.map(({ name }) => name);
  // The form shows what was declared; a plan that repeats it hides what matters.
  const isDeclared = ({ pointer }: FieldChange) => now !== null && sentAt(plan.spec, pointer) !== undefined;
  const isRemoval = ({ to }: FieldChange) => to === null || to === undefined;
  const told = changes.filter((each) => isDeclared(each) || (now !== null && isRemoval(each)));
  const folded = changes.filter((each) => !told.includes(each));
  const isNew = (list: 'changes' | 'effects', entry: unknown): boolean =>
    former !== undefined && !former.answer[list].some((each) => isSame(each, entry));
  return (
    <div className={styles.plan}>
      {changes.length === 0 && <p className="muted">No field changes.</p>}
      {told.length > 0 && (
        <ul className={styles.list} aria-label="Changed fields">
          {told.map((each) => (
            <li key={each.pointer}>
              {isNew('changes', each) && <strong>New: </strong>}
              {changeSentence(each, pools)}
            </li>
          ))}
        </ul>
      )}
      {folded.length > 0 && (
        <details>
          <summary>{now === null ? plural(folded.length, 'field') : plural(folded.length, 'default')}</summary>
          <ul className={styles.list} aria-label="Other fields">
            {folded.map((each) => (
              <li key={each.pointer}>
                {changeSentence(each, pools)}
                {sentAt(plan.spec, each.pointer) === undefined && <span className="muted"> (default)</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
      {effects.length > 0 && <EffectList effects={effects} isNew={(effect) => isNew('effects', effect)} />}
      <RecordSetsLost recordSets={recordSets} />
      <CostChange now={now} after={cost} />
      {cost.items
        .filter(({ monthly }) => monthly.minimum === null)
        .map(({ name, machineType, reason }) => (
          <p key={name} className="muted">
            {name}, {machineType}: {reason ?? 'the price is not known'}
          </p>
        ))}
      <p className="muted">Net, nodes only.</p>
    </div>
  );
}

const keyOf = (effect: ChangeEffect): string =>
  `${effect.target} ${effect.target === 'nodePool' ? effect.pool : ''} ${effect.kind} ${effect.reason}`;

const losesNodes: ReadonlySet<string> = new Set(['replaced', 'removed', 'deleted', 'hibernated']);

interface EffectListProps {
  readonly effects: readonly ChangeEffect[];
  /** Whether an effect was not in the plan that was shown before. */
  readonly isNew?: (effect: ChangeEffect) => boolean;
}

/** What happens to the cluster and to each of its pools. */
export function EffectList({ effects, isNew = () => false }: EffectListProps) {
  return (
    <ul className={styles.list} aria-label="Effects on the cluster and its nodes">
      {effects.map((effect) => (
        <li key={keyOf(effect)}>
          {isNew(effect) && <strong>New: </strong>}
          <Effect effect={effect} />
        </li>
      ))}
    </ul>
  );
}

function Effect({ effect }: { readonly effect: ChangeEffect }) {
  return (
    <>
      <Status tone={losesNodes.has(effect.kind) ? 'warning' : 'idle'}>{effect.kind}</Status>{' '}
      <span className="mono">{effect.target === 'nodePool' ? effect.pool : 'cluster'}</span>
      {effect.target === 'nodePool' && <span className="numeric"> {nodesText(effect)}</span>}
      {effect.target === 'cluster' && versionText(effect.kubernetesVersion)} <span>{effect.reason}</span>
    </>
  );
}

type Nodes = PoolEffect['nodes']['before'];

const rangeText = (range: Nodes): string =>
  range === null ? '0' : range.minimum === range.maximum ? `${range.minimum}` : `${range.minimum}–${range.maximum}`;

function nodesText({ nodes: { before, after } }: PoolEffect): string {
  const [from, to] = [rangeText(before), rangeText(after)];
  return from === to ? `${to} nodes.` : `${from} → ${to} nodes.`;
}

function versionText({ before, after }: { readonly before: string | null; readonly after: string | null }) {
  if (before === after || after === null) return null;
  return (
    <span className="mono">
      {' '}
      {before === null ? '' : `${before} → `}
      {after}
    </span>
  );
}

function CostChange({ now, after }: { readonly now: Cost | null; readonly after: Cost }) {
  return (
    <dl className={`${styles.cost} numeric`}>
      {now !== null && <CostLine term="A month now">{costText(now)}</CostLine>}
      <CostLine term={now === null ? 'A month' : 'A month then'}>{costText(after)}</CostLine>
      {now !== null && <CostLine term="Difference">{costDifferenceText(now, after)}</CostLine>}
    </dl>
  );
}

function CostLine({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
