import { isCorralError } from '@corral/client';
import { type Connection, clusterLimits } from '@corral/contracts';
import { Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { connectionQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { Panel } from '../ui/columns.js';
import { Section } from '../ui/page.js';
import { Empty } from '../ui/states.js';
import { checkToken } from './check-token.js';
import { sendIfUnedited } from './send-if-unedited.js';
import { TokenField } from './token-field.js';

export interface ChangeConnectionProps {
  readonly connection: Connection;
  readonly onDone: () => void;
}

/** Replaces the token, the name, or both. The API accepts only tokens of the project that the connection has. */
export function ChangeConnection({ connection, onDone }: ChangeConnectionProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const [seen, setSeen] = useState(connection);
  const { ref } = connection.metadata;
  const form = useApiForm({
    initial: { name: connection.spec.name, token: '' },
    send: async ({ name, token }) => {
      const { provider, providerConfig } = seen.spec;
      const typed = token.trim() === '' ? {} : { token: token.trim() };
      const body = { spec: { provider, providerConfig, name: name.trim(), ...typed } };
      if (typed.token !== undefined)
        await checkToken(corral.putConnection({ team, ref }, { body, query: { dryRun: true } }));
      return bodyOf(
        sendIfUnedited(
          seen,
          () => cache.fetchQuery({ ...connectionQuery(team, ref), staleTime: 0 }),
          (ifMatch) => corral.putConnection({ team, ref }, { body, ifMatch }),
        ),
      );
    },
    onSaved: async (saved) => {
      cache.setQueryData(connectionQuery(team, ref).queryKey, saved);
      announce(`Changed ${ref}`);
      onDone();
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'connections'] });
    },
  });
  const { fields } = form;
  const isConflict = isCorralError(form.error) && form.error.status === 412;
  return (
    <Panel>
      <Section title="Replace token or name">
        <ApiFormFrame
          form={isConflict ? { ...form, error: null } : form}
          action="Save connection"
          failure="The connection was not changed."
          onCancel={onDone}
        >
          <TextInput
            autoFocus
            label="Name"
            maxLength={clusterLimits.connectionNameCharacters}
            autoComplete="off"
            {...fields.getInputProps('name')}
          />
          <TokenField label="New API token (empty: keep the present one)" {...fields.getInputProps('token')} />
        </ApiFormFrame>
        {isConflict && (
          <Conflict seen={seen} now={connection} mine={fields.values.name} onContinue={() => setSeen(connection)} />
        )}
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
