import { Menu } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { PersonButton } from './person-button.js';
import { useSignOut } from './use-sign-out.js';

const About = lazy(() => import('./about.js').then(({ About }) => ({ default: About })));

/** What is the person's own, and the way out. */
export function PersonMenu({ me }: { readonly me: { readonly displayName: string; readonly email: string } }) {
  const [isAboutOpen, setAboutOpen] = useState(false);
  const signOut = useSignOut();
  return (
    <>
      <Menu position="top-start">
        <Menu.Target>
          <PersonButton person={me} />
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{me.email}</Menu.Label>
          <Menu.Item component={Link} to="/me">
            Sessions and preferences
          </Menu.Item>
          <Menu.Item component="a" href="/docs/">
            API reference
          </Menu.Item>
          <Menu.Item onClick={() => setAboutOpen(true)}>About Corral</Menu.Item>
          <Menu.Item onClick={() => signOut.mutate()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isAboutOpen && (
        <Suspense fallback={null}>
          <About onClose={() => setAboutOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
