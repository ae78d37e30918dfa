import { Link, type MakeRouteMatchUnion, useMatches } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import styles from './page.module.css';

export interface PageProps {
  /** The thing that it shows; otherwise the title of the route. */
  readonly title?: string | undefined;
  /** What stands beside the title, such as a status. */
  readonly aside?: ReactNode;
  readonly actions?: ReactNode;
  /** False where the team of the address is not that of the person. */
  readonly hasCrumbs?: boolean;
  readonly children: ReactNode;
}

/** The pages from the team down to the parent of the present one, as its route states them. */
function useCrumbs(): { readonly title: string; readonly crumbs: readonly { label: string; to: string }[] } {
  const { staticData, params } = useMatches({ select: lastOf });
  const { team } = params;
  if (team === undefined) return { title: staticData.title ?? '', crumbs: [] };
  const filled = (text: string, each: (value: string) => string = (value) => value) =>
    text.replace(/\$(\w+)/g, (_whole, name: string) => each(params[name] ?? ''));
  const above = (staticData.crumbs ?? []).map(({ label, path }) => ({
    label: filled(label),
    to: `/teams/${team}${filled(path, encodeURIComponent)}`,
  }));
  return { title: staticData.title ?? '', crumbs: [{ label: team, to: `/teams/${team}` }, ...above] };
}

const lastOf = (matches: readonly Pick<MakeRouteMatchUnion, 'staticData' | 'params'>[]) => {
  const last = matches.at(-1);
  return { staticData: last?.staticData ?? {}, params: (last?.params ?? {}) as Readonly<Record<string, string>> };
};

/** The frame of each page. Its title takes the focus when the page opens, and names the window. */
export function Page({ title: shown, aside, actions, hasCrumbs = true, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { title: ofRoute, crumbs: ofTeam } = useCrumbs();
  const crumbs = hasCrumbs ? ofTeam : [];
  const title = shown ?? ofRoute;
  const windowTitle = [title, ...crumbs.map(({ label }) => label).reverse(), 'Corral'].join(' · ');
  useEffect(() => {
    document.title = windowTitle;
  }, [windowTitle]);
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
