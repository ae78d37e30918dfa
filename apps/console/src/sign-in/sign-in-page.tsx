import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { SignInForm } from '../shell/sign-in-form.js';
import { Mark } from '../ui/mark.js';
import styles from './sign-in.module.css';

/** The page for a person without a session. Afterwards they see what they wanted to see. */
export function SignInPage() {
  const { to = '/' } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const router = useRouter();
  useEffect(() => {
    document.title = 'Sign in · Corral';
  }, []);
  return (
    <main className={styles.center}>
      <div className={styles.card}>
        <Mark />
        <h1>Sign in to Corral</h1>
        <SignInForm
          returnTo={`/console${to}`}
          onSignedIn={() => {
            void router.invalidate();
            void navigate({ href: `/console${to}` });
          }}
        />
      </div>
    </main>
  );
}
