import type { ClusterSchemas } from '@corral/client';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { meQuery } from '../api/queries.js';
import { Mark } from '../ui/mark.js';
import { Page } from '../ui/page.js';
import { Empty, Failed } from '../ui/states.js';
import styles from './shell.module.css';
import { useSignOut } from './use-sign-out.js';

/** The frame of pages outside a team: who is signed in, and the way out. */
export function PlainFrame({ children }: { readonly children: ReactNode }) {
  const { data: me } = useQuery(meQuery());
  const signOut = useSignOut();
  return (
    <>
      <header className={styles.plainHead}>
        <Link to="/" className={styles.mark ?? ''}>
          <Mark />
        </Link>
        {me !== undefined && <span className={styles.who}>Signed in as {me.email}</span>}
        <Link to="/me">Sessions and preferences</Link>
        <Button onClick={() => signOut.mutate()} loading={signOut.isPending}>
          Sign out
        </Button>
      </header>
      <main className={styles.plainMain}>
        {signOut.error !== null && <Failed error={signOut.error} what="You are still signed in." />}
        {children}
      </main>
    </>
  );
}

interface NotYourTeamProps {
  readonly team: string;
  readonly me: Pick<ClusterSchemas['Me'], 'email' | 'teams'>;
}

/** The page in place of those of a team that the person does not belong to, whether there is such a team or not. */
export const NotYourTeam = ({ team, me }: NotYourTeamProps) => (
  <PlainFrame>
    <Page title={`You are not in the team ${team}`} hasCrumbs={false}>
      <Empty>
        <p>
          There is no such team, or you do not belong to it. Ask an administrator of the team to invite{' '}
          <strong>{me.email}</strong>.
        </p>
        {me.teams.length > 0 && (
          <>
            <p>Your teams:</p>
            <ul>
              {me.teams.map(({ slug, name }) => (
                <li key={slug}>
                  <Link to="/teams/$team" params={{ team: slug }}>
                    {name === slug ? slug : `${name} (${slug})`}
                  </Link>
                </li>
              ))}
            </ul>
          </>
        )}
      </Empty>
    </Page>
  </PlainFrame>
);
