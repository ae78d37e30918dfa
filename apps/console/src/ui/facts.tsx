import type { ReactNode } from 'react';
import styles from './facts.module.css';

export interface Fact {
  readonly label: string;
  readonly value: ReactNode;
}

/** What is known about one thing, by name. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
