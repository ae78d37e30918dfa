import { type Connection, clusterLimits } from '@corral/contracts';
import { Button, Group, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../api/client.js';
import { isProblem } from '../api/problem.js';
import { connectionQuery, teamKey } from '../api/queries.js';
import { announce } from '../ui/announcer.js';
import { Panel } from '../ui/columns.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { fieldMessages } from './create-connection-page.js';
import { TokenField } from './token-field.js';

export interface ChangeConnectionProps {
  readonly team: string;
  readonly connection: Connection;
  readonly onDone: () => void;
}

/** Replaces the token, the name, or both. The API accepts only tokens of the project that the connection has. */
export function ChangeConnection({ team, connection, onDone }: ChangeConnectionProps) {
  const cache = useQueryClient();
  const { ref, etag } = connection.metadata;
  const [began] = useState({ etag, name: connection.spec.name });
  const [name, setName] = useState(connection.spec.name);
  const [token, setToken] = useState('');
  const save = useMutation({
    gcTime: 0,
    mutationFn: async (ifMatch: string) => {
      const { provider, providerConfig } = connection.spec;
      const spec = {
        provider,
        providerConfig,
        name: name.trim(),
        ...(token.trim() === '' ? {} : { token: token.trim() }),
      };
      return (
        await change('put', '/api/v1/teams/{team}/connections/{ref}/', { team, ref }, { body: { spec }, ifMatch })
      ).body;
    },
    onSuccess: async (changed) => {
      cache.setQueryData(connectionQuery(team, ref).queryKey, changed);
      announce(`Changed ${ref}`);
      onDone();
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'connections'] });
    },
  });
  const said = fieldMessages(save.error);
  const isConflict = isProblem(save.error) && save.error.status === 412;
  const isRenamedMeanwhile = connection.spec.name !== began.name;
  return (
    <Panel>
      <Section title="Replace token or name">
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            // Its entity tag moves with each verification. Only a changed name is a conflict, and it is shown below.
            save.mutate(isRenamedMeanwhile ? began.etag : etag);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onDone();
          }}
        >
          <Group align="flex-start" grow preventGrowOverflow={false}>
            <TextInput
              autoFocus
              label="Display name"
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
        {isConflict && isRenamedMeanwhile && (
          <p role="alert">
            {ref} has changed since you began: its name was {began.name} and is now {connection.spec.name}; yours is{' '}
            {name}. <Button onClick={() => save.mutate(etag)}>Use mine</Button>{' '}
            <Button onClick={() => setName(connection.spec.name)}>Take theirs</Button>
          </p>
        )}
        {save.error !== null && !(isConflict && isRenamedMeanwhile) && (
          <Failed error={save.error} what="The connection was not changed." />
        )}
      </Section>
    </Panel>
  );
}
