import { isCorralError } from '@corral/client';
import { type Connection, clusterLimits } from '@corral/contracts';
import { Button, Group, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { connectionQuery, teamKey } from '../api/queries.js';
import { announce } from '../ui/announcer.js';
import { Panel } from '../ui/columns.js';
import { Section } from '../ui/page.js';
import { Empty, Failed } from '../ui/states.js';
import { fieldMessages } from './field-messages.js';
import { sendIfUnedited } from './send-if-unedited.js';
import { TokenField } from './token-field.js';

export interface ChangeConnectionProps {
  readonly team: string;
  readonly connection: Connection;
  readonly onDone: () => void;
}

/** Replaces the token, the name, or both. The API accepts only tokens of the project that the connection has. */
export function ChangeConnection({ team, connection, onDone }: ChangeConnectionProps) {
  const cache = useQueryClient();
  const [seen, setSeen] = useState(connection);
  const [name, setName] = useState(connection.spec.name);
  const [token, setToken] = useState('');
  const { ref } = connection.metadata;
  const save = useMutation({
    gcTime: 0,
    mutationFn: () => {
      const { provider, providerConfig } = seen.spec;
      const typed = token.trim() === '' ? {} : { token: token.trim() };
      const body = { spec: { provider, providerConfig, name: name.trim(), ...typed } };
      return sendIfUnedited(
        seen,
        () => cache.fetchQuery({ ...connectionQuery(team, ref), staleTime: 0 }),
        (ifMatch) => corral.putConnection({ team, ref }, { body, ifMatch }),
      );
    },
    onSuccess: async ({ body }) => {
      cache.setQueryData(connectionQuery(team, ref).queryKey, body);
      announce(`Changed ${ref}`);
      onDone();
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'connections'] });
    },
  });
  const said = fieldMessages(save.error);
  const isConflict = isCorralError(save.error) && save.error.status === 412;
  return (
    <Panel>
      <Section title="Replace token or name">
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate();
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onDone();
          }}
        >
          <Group align="flex-start" grow preventGrowOverflow={false}>
            <TextInput
              autoFocus
              label="Name"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              error={said['/spec/name']}
              maxLength={clusterLimits.connectionNameCharacters}
              autoComplete="off"
            />
            <TokenField
              label="New API token (empty: keep the present one)"
              value={token}
              onChange={setToken}
              error={said['/spec/token']}
            />
          </Group>
          <Group mt="md">
            <Button type="submit" variant="filled" loading={save.isPending}>
              Save connection
            </Button>
            <Button onClick={onDone}>Cancel</Button>
          </Group>
        </form>
        {isConflict && <Conflict seen={seen} now={connection} mine={name} onContinue={() => setSeen(connection)} />}
        {save.error !== null && !isConflict && <Failed error={save.error} what="The connection was not changed." />}
      </Section>
    </Panel>
  );
}

interface ConflictProps {
  readonly seen: Connection;
  readonly now: Connection;
  readonly mine: string;
  readonly onContinue: () => void;
}

/** What another person changed since this one began. A token cannot be compared, only that something has changed. */
function Conflict({ seen, now, mine, onContinue }: ConflictProps) {
  const { ref, generation } = now.metadata;
  if (generation === seen.metadata.generation) return <p role="status">Save again to change it as it is now.</p>;
  return (
    <div role="alert">
      <Empty action={<Button onClick={onContinue}>Continue from there</Button>}>
        {ref} has changed since you began.{' '}
        {seen.spec.name === now.spec.name
          ? 'Its name is the same, so its token was replaced.'
          : `Its name was ${seen.spec.name} and is now ${now.spec.name}. Yours is ${mine}.`}
      </Empty>
    </div>
  );
}
