import type { ReactNode } from 'react';
import styles from './columns.module.css';

/** A form and, beside it or below on a narrow screen, what it would do. */
export function Columns({ children, aside }: { readonly children: ReactNode; readonly aside: ReactNode }) {
  return (
    <div className={styles.columns}>
      <div className={styles.part}>{children}</div>
      <div className={styles.part}>{aside}</div>
    </div>
  );
}

/** A bordered area that belongs together. */
export function Panel({ children }: { readonly children: ReactNode }) {
  return <div className={styles.panel}>{children}</div>;
}
