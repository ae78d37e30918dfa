import type { Cluster } from '@corral/contracts';
import { didOf } from '../api/words.js';
import { type LastChange, LastChanges } from '../audit/last-changes.js';
import { changeSentence } from '../cluster-form/plan-text.js';
import { Time } from '../ui/time.js';
import styles from './clusters.module.css';

const FIELDS_SHOWN = 3;

/** Shows who did what to the cluster. */
export function Activity({ cluster: { metadata, spec } }: { readonly cluster: Cluster }) {
  const pools = spec.nodePools.map(({ name }) => name);
  return (
    <LastChanges title="Activity" cluster={metadata}>
      {(changes) => {
        if (changes.length === 0) return <p className="muted">Nothing was done yet.</p>;
        return (
          <ul className={styles.entries}>
            {changes.map((change) => (
              <li key={change.id}>
                <Time at={change.at} />
                <span>
                  {change.who} {sentenceOf(change, pools)}
                </span>
              </li>
            ))}
          </ul>
        );
      }}
    </LastChanges>
  );
}

function sentenceOf({ action, fields }: LastChange, pools: readonly string[]): string {
  // A region is set at creation only.
  if (fields.some(({ pointer }) => pointer === '/spec/region')) return didOf('cluster.create');
  // The page says already of what: "got a kubeconfig".
  const did = didOf(action).replace(/ of$/, '');
  if (fields.length === 0) return did;
  const told = fields.slice(0, FIELDS_SHOWN).map((field) => changeSentence(field, pools));
  return `${did}: ${told.join(', ')}${fields.length > FIELDS_SHOWN ? ' …' : ''}`;
}
