import { type NotificationKind, notificationKinds, type SessionBody } from '@corral/contracts';
import { Button, Input, SegmentedControl, Stack, Switch, useMantineColorScheme } from '@mantine/core';
import '../ui/segmented-control.css';
import '@mantine/core/styles/Switch.layer.css';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { meQuery, notificationsQuery, sessionsQuery } from '../api/queries.js';
import { PlainFrame } from '../shell/plain-frame.js';
import { areShortcutsOn, setShortcutsOn } from '../shell/shortcuts.js';
import { useSignOut } from '../shell/use-sign-out.js';
import { announce } from '../ui/announcer.js';
import { densityOf, setDensity } from '../ui/density.js';
import { Page, Section } from '../ui/page.js';
import { Failed, Loaded } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { programOf } from './program-of.js';

const methods = { oidc: 'identity provider', development: 'development', command_line: 'allowed by you' } as const;

/** The person themselves: sessions and preferences. */
export function MePage() {
  const me = useQuery(meQuery());
  const sessions = useQuery(sessionsQuery());
  return (
    <PlainFrame>
      <Page aside={<Link to="/">Back to the team</Link>}>
        <Loaded query={me} what="your account">
          {({ email, displayName }) => (
            <p>
              Signed in as <strong>{displayName || email}</strong> ({email}).
            </p>
          )}
        </Loaded>
        <Preferences />
        <Mails />
        <Section title="Sessions">
          <Loaded query={sessions} what="your sessions">
            {(items) => <Sessions sessions={items} />}
          </Loaded>
        </Section>
      </Page>
    </PlainFrame>
  );
}

function Preferences() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [density, setShownDensity] = useState(densityOf());
  const [hasShortcuts, setHasShortcuts] = useState(areShortcutsOn());
  return (
    <Section title="Preferences">
      <Stack gap="md" align="flex-start">
        <Choice
          label="Theme"
          value={colorScheme}
          choices={{ auto: 'System', light: 'Light', dark: 'Dark' }}
          onChange={setColorScheme}
        />
        <Choice
          label="Density of lists"
          value={density}
          choices={{ compact: 'Compact', comfortable: 'Comfortable' }}
          onChange={(chosen) => {
            setDensity(chosen);
            setShownDensity(chosen);
          }}
        />
        <Switch
          label="Single-key shortcuts (g then c opens Clusters)"
          checked={hasShortcuts}
          onChange={(event) => {
            setShortcutsOn(event.currentTarget.checked);
            setHasShortcuts(event.currentTarget.checked);
          }}
        />
      </Stack>
    </Section>
  );
}

interface ChoiceProps<V extends string> {
  readonly label: string;
  readonly value: V;
  /** What each value is called. */
  readonly choices: Readonly<Record<V, string>>;
  readonly onChange: (value: V) => void;
}

const Choice = <V extends string>({ label, value, choices, onChange }: ChoiceProps<V>) => (
  <Input.Wrapper label={label} size="xs">
    <SegmentedControl
      aria-label={label}
      size="xs"
      display="flex"
      value={value}
      data={Object.entries<string>(choices).map(([each, text]) => ({ value: each as V, label: text }))}
      onChange={onChange}
    />
  </Input.Wrapper>
);

const mailWords: Readonly<Record<NotificationKind, string>> = {
  failed_operations: 'Operations that fail',
  rejected_connections: 'Connections whose token is rejected',
  ending_tokens: 'DNS tokens and tokens of robots that end in a week',
  ending_record_sets: 'Record sets that end soon',
  ending_versions: 'Kubernetes versions whose support ends in a month',
};

/** What the person gets mails about: their own things, and those of the team as its administrator. */
function Mails() {
  const cache = useQueryClient();
  const wanted = useQuery(notificationsQuery());
  const save = useMutation({
    mutationFn: (kinds: NotificationKind[]) => corral.putNotifications({}, { body: { kinds } }),
    // One after the other, so that the last choice is the one that stays.
    scope: { id: 'notifications' },
    onMutate: (kinds) => cache.setQueryData(notificationsQuery().queryKey, { kinds }),
    onSuccess: () => announce('Saved which mails you get'),
    onError: () => cache.invalidateQueries({ queryKey: notificationsQuery().queryKey }),
  });
  return (
    <Section title="Mails about">
      <Loaded query={wanted} what="your mails">
        {({ kinds }) => (
          <Stack gap="xs" align="flex-start">
            {notificationKinds.map((kind) => (
              <Switch
                key={kind}
                label={mailWords[kind]}
                checked={kinds.includes(kind)}
                onChange={(event) =>
                  save.mutate(
                    notificationKinds.filter((each) =>
                      each === kind ? event.currentTarget.checked : kinds.includes(each),
                    ),
                  )
                }
              />
            ))}
            {save.error !== null && <Failed error={save.error} what="The choice is not saved." />}
          </Stack>
        )}
      </Loaded>
    </Section>
  );
}

function Sessions({ sessions }: { readonly sessions: readonly SessionBody[] }) {
  const cache = useQueryClient();
  const end = useMutation({
    mutationFn: (id: string) => corral.revokeSession({ id }),
    onSuccess: async () => {
      announce('Ended the session');
      await cache.invalidateQueries({ queryKey: sessionsQuery().queryKey });
    },
  });
  const endAll = useSignOut(true);
  return (
    <>
      <Table
        caption="Your sessions"
        rows={sessions}
        rowKey={({ id }) => id}
        columns={{
          'Browser or program': ({ name, userAgent, current }) => (
            <>
              <span title={userAgent}>{name ?? programOf(userAgent)}</span>{' '}
              {current && <Status tone="good">this one</Status>}
            </>
          ),
          'Sign-in': ({ method }) => methods[method],
          Since: ({ createdAt }) => <Time at={createdAt} />,
          'Last used': ({ lastSeenAt }) => <Time at={lastSeenAt} />,
          Ends: ({ expiresAt }) => <Time at={expiresAt} />,
          Actions: {
            alignEnd: true,
            cell: ({ id, current, name, userAgent }) =>
              !current && (
                <Button variant="subtle" color="bad" onClick={() => end.mutate(id)}>
                  End session<span className="visually-hidden"> of {name ?? programOf(userAgent)}</span>
                </Button>
              ),
          },
        }}
      />
      {end.error !== null && <Failed error={end.error} />}
      <div>
        <Button color="bad" loading={endAll.isPending} onClick={() => endAll.mutate()}>
          End all sessions, this one included
        </Button>
      </div>
      {endAll.error !== null && <Failed error={endAll.error} />}
    </>
  );
}
