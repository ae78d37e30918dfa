import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import styles from './page.module.css';

export interface Crumb {
  readonly label: string;
  /** Path below `/console`. */
  readonly to: string;
}

export interface PageProps {
  readonly title: string;
  /** Beside the title, such as a status. */
  readonly aside?: ReactNode;
  /** Pages from the team down to the parent of this one. */
  readonly crumbs?: readonly Crumb[];
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of each page. Its title takes the focus when the page opens, and names the window. */
export function Page({ title, aside, crumbs = [], actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = [title, ...crumbs.map(({ label }) => label).reverse(), 'Corral'].join(' · ');
  }, [title, crumbs]);
  useEffect(() => {
    // A field that asks for the focus itself keeps it.
    if (document.activeElement === document.body || document.activeElement === null) heading.current?.focus();
  }, []);
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.titles}>
          {crumbs.length > 0 && (
            <nav aria-label="Breadcrumb">
              <ol className={styles.crumbs}>
                {crumbs.map(({ label, to }) => (
                  <li key={to}>
                    <Link to={to}>{label}</Link> /
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <div className={styles.title}>
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {aside}
          </div>
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export interface SectionProps {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, actions, children }: SectionProps) {
  const id = useId();
  return (
    <section className={styles.section} aria-labelledby={id}>
      <div className={styles.sectionHead}>
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
