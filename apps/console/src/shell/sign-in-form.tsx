import { Button, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { devSignIn, listDevPeople } from '../api/dev-sign-in.js';
import { forgetDnsSessions } from '../api/dns-client.js';
import { meQuery } from '../api/queries.js';
import { noteSessionStart } from '../api/session-end.js';
import { settings } from '../settings.js';
import { Failed } from '../ui/states.js';
import { clearDrafts } from '../ui/use-draft.js';

/** The API takes paths of at most this length. */
const RETURN_PATH_CHARACTERS = 500;

/** @param target path with query; without its query when it is too long */
function signInUrl(target: string): string {
  const path = target.length <= RETURN_PATH_CHARACTERS ? target : (target.split('?')[0] ?? '/console/');
  return `/auth/login/?${new URLSearchParams({ return_to: path })}`;
}

export interface SignInFormProps {
  /** The page to open after a sign-in at the provider. */
  readonly returnTo: string;
  /** Called after a sign-in without leaving the page. */
  readonly onSignedIn: () => void;
}

/** The ways to sign in here: at the OpenID Connect provider, and in development with an address alone. */
export function SignInForm({ returnTo, onSignedIn }: SignInFormProps) {
  return (
    <Stack gap="md">
      {settings.openIdConnect && (
        <Button component="a" variant="filled" size="sm" href={signInUrl(returnTo)}>
          Sign in
        </Button>
      )}
      {settings.devSignIn && <DevSignIn onSignedIn={onSignedIn} />}
      {!settings.openIdConnect && !settings.devSignIn && (
        <p>No identity provider is configured here. Ask the operators of this installation.</p>
      )}
    </Stack>
  );
}

function DevSignIn({ onSignedIn }: Pick<SignInFormProps, 'onSignedIn'>) {
  const [email, setEmail] = useState('');
  const cache = useQueryClient();
  const people = useQuery({
    queryKey: ['dev-people'],
    queryFn: ({ signal }) => listDevPeople(signal),
    retry: false,
  });
  const signIn = useMutation({
    mutationFn: devSignIn,
    onSuccess: async (me) => {
      forgetDnsSessions();
      const before = cache.getQueryData(meQuery().queryKey);
      if (before !== undefined && before.id !== me.id) {
        // The page below, and what was typed into it, are those of another person.
        clearDrafts();
        window.location.replace('/console/');
        return;
      }
      cache.setQueryData(['me'], me);
      noteSessionStart();
      onSignedIn();
    },
  });
  return (
    <Stack gap="sm">
      <p className="muted">Development: sign in as anybody, without a password.</p>
      {people.data?.map(({ email: address, displayName, teams }) => (
        <Button
          key={address}
          size="sm"
          onClick={() => signIn.mutate(address)}
          loading={signIn.variables === address && signIn.isPending}
        >
          {displayName || address} ({teams.map(({ slug, role }) => `${slug}, ${role}`).join('; ') || 'no team'})
        </Button>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate(email);
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="E-mail address"
            type="email"
            autoComplete="email"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            required
          />
          <Button type="submit" loading={signIn.isPending}>
            Sign in with this address
          </Button>
        </Stack>
      </form>
      {signIn.error !== null && <Failed error={signIn.error} />}
    </Stack>
  );
}
