import { type ClusterSchemas, isCorralError } from '@corral/client';
import { shownUserCode, userCodeOf } from '@corral/contracts';
import { Button, Group, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { meQuery } from '../api/queries.js';
import { PlainFrame } from '../shell/plain-frame.js';
import { Facts } from '../ui/facts.js';
import { Page, Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { Time } from '../ui/time.js';

/** The page on which a person lets a machine without a browser sign in as them. */
export function DevicePage() {
  const { user_code: linked = '' } = useSearch({ from: '/signed-in/device' });
  const [typed, setTyped] = useState(linked);
  const code = userCodeOf(typed);
  const find = useMutation({
    gcTime: 0,
    // Each wrong code counts against the person, so it is sent only when they say so.
    mutationFn: async (userCode: string) => ({
      code: shownUserCode(userCode),
      asking: await bodyOf(corral.getDeviceSignIn({ user_code: userCode })),
    }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (code !== null) find.mutate(code);
  };
  return (
    <PlainFrame>
      <Page>
        {find.data === undefined ? (
          <form onSubmit={submit}>
            <p>A machine without a browser, on which you have just started to sign in, shows a code.</p>
            <Group align="flex-end" gap="xs">
              <TextInput
                label="Code"
                value={typed}
                onChange={(event) => setTyped(event.currentTarget.value)}
                maxLength={20}
                autoComplete="off"
                spellCheck={false}
                autoFocus
                w="12rem"
              />
              <Button type="submit" variant="filled" disabled={code === null} loading={find.isPending}>
                Continue
              </Button>
            </Group>
          </form>
        ) : (
          <Decision {...find.data} key={find.data.code} />
        )}
        {find.error !== null && <Refused error={find.error} />}
      </Page>
    </PlainFrame>
  );
}

interface DecisionProps {
  readonly code: string;
  readonly asking: ClusterSchemas['DeviceSignIn'];
}

function Decision({ code, asking: { name, address, createdAt } }: DecisionProps) {
  const { data: me } = useQuery(meQuery());
  const decide = useMutation({
    mutationFn: (decision: 'allow' | 'deny') =>
      corral.decideDeviceSignIn({ user_code: code }, { body: { decision } }).then(() => decision),
  });
  if (decide.data !== undefined) {
    return (
      <p role="status">
        {decide.data === 'allow'
          ? `${name} is signed in as you. You can close this page; the session ends under "Sessions and preferences".`
          : `${name} is not signed in. You can close this page.`}
      </p>
    );
  }
  return (
    <Section title="Let a program sign in as you?">
      <p>
        <strong>{name}</strong> asks to sign in as <strong>{me?.email}</strong>. It can then do everything that you can
        do, until its session ends.
      </p>
      <Facts
        facts={[
          { label: 'Code', value: <span className="mono">{code}</span> },
          { label: 'From the address', value: <span className="mono">{address}</span> },
          { label: 'Asked', value: <Time at={createdAt} /> },
        ]}
      />
      <p>
        <strong>Allow it only if you have just started it yourself, and it shows this code.</strong> If somebody sent
        you the code or a link to this page, they would be signed in as you. The name of the machine is not proven.
      </p>
      <Group gap="xs">
        <Button variant="filled" loading={decide.isPending} onClick={() => decide.mutate('allow')}>
          Allow
        </Button>
        <Button disabled={decide.isPending} onClick={() => decide.mutate('deny')}>
          Do not allow
        </Button>
      </Group>
      {decide.error !== null && <Refused error={decide.error} />}
    </Section>
  );
}

function Refused({ error }: { readonly error: unknown }) {
  if (!isCorralError(error) || error.status !== 404) return <Failed error={error} />;
  return (
    <p role="alert">
      No machine waits with this code. Type the one that it shows. It is valid for 10 minutes: after that, start again
      on the machine.
    </p>
  );
}
