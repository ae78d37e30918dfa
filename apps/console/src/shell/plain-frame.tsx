import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { meQuery } from '../api/queries.js';
import { Mark } from '../ui/mark.js';
import { Failed } from '../ui/states.js';
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
