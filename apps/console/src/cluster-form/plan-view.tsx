import type { Cost } from '@corral/contracts';
import type { ReactNode } from 'react';
import { isProblem } from '../api/problem.js';
import { moneyDifference, moneyRange } from '../ui/money.js';
import { Failed } from '../ui/states.js';
import { Status } from '../ui/status.js';
import type { Plan } from './plan.js';
import styles from './plan.module.css';

/** What a change does: fields, nodes, cost. @param now the cost before it; null for a new cluster */
export function PlanView({ plan, now }: { readonly plan: Plan; readonly now: Cost | null }) {
  const { changes, effects, cost, costDifference } = plan.answer;
  return (
    <div className={styles.plan}>
      <ul className={styles.list} aria-label="Changed fields">
        {changes.length === 0 && <li className="muted">No field changes.</li>}
        {changes.map(({ pointer, from, to }) => (
          <li key={pointer}>
            <code>{pointer.replace(/^\/spec\//, '')}</code>{' '}
            <span className="mono">
              {from !== null && from !== undefined && <del>{shown(from)}</del>} → {shown(to)}
            </span>
          </li>
        ))}
      </ul>
      {effects.length > 0 && (
        <ul className={styles.list} aria-label="Effects on the cluster and its nodes">
          {effects.map((effect) => (
            <li key={`${effect.target} ${poolOf(effect) ?? ''} ${effect.kind} ${effect.reason}`}>
              <Status tone={losesNodes.has(effect.kind) ? 'warning' : 'idle'}>{effect.kind}</Status>{' '}
              <span className="mono">{poolOf(effect) ?? 'cluster'}</span> {effect.reason}
            </li>
          ))}
        </ul>
      )}
      <dl className={`${styles.cost} numeric`}>
        {now !== null && <CostLine term="Per month now">{moneyRange(now.monthly, now.currency)}</CostLine>}
        <CostLine term="Per month then">{moneyRange(cost.monthly, cost.currency)}</CostLine>
        <CostLine term="Difference">{moneyDifference(costDifference.monthly, cost.currency)}</CostLine>
      </dl>
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

const losesNodes: ReadonlySet<string> = new Set(['replaced', 'removed', 'deleted']);

/** Null for an effect on the cluster itself. */
const poolOf = (effect: object): string | null => ('pool' in effect ? String(effect.pool) : null);

function CostLine({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const shown = (value: unknown): string =>
  value === null || value === undefined ? 'absent' : typeof value === 'string' ? value : JSON.stringify(value);

/** Why a change would be refused: every reason, with its field. */
export function Refusals({ error }: { readonly error: unknown }) {
  if (!isProblem(error) || error.fields.length === 0) return <Failed error={error} what="This would be refused." />;
  return (
    <div role="alert" className={styles.refusals}>
      <strong>This would be refused.</strong>
      <ul className={styles.list}>
        {error.fields.map(({ pointer, message }) => (
          <li key={`${pointer} ${message}`}>
            {pointer !== '' && <code>{pointer.replace(/^\/spec\//, '')}</code>} {message}
          </li>
        ))}
      </ul>
      {error.requestId !== null && <code className="muted">{error.requestId}</code>}
    </div>
  );
}
