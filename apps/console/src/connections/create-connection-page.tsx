import { isCorralError, newIdempotencyKey } from '@corral/client';
import { type Connection, clusterLimits } from '@corral/contracts';
import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Page } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import { fieldMessages } from './field-messages.js';
import { TokenField } from './token-field.js';

/** Connects a cloud project with its token. */
export function CreateConnectionPage() {
  const { slug: team } = useTeam();
  return (
    <Page>
      <ConnectForm team={team} />
    </Page>
  );
}

const emptyDraft = { ref: '', name: '' };

function ConnectForm({ team }: { readonly team: string }) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [draft, setDraft, clearDraft] = useDraft(`connection.${team}`, emptyDraft);
  const [token, setToken] = useState('');
  const tokenInput = useRef<HTMLInputElement>(null);
  const [isTokenMissing, setTokenMissing] = useState(false);
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const connect = useMutation({
    gcTime: 0,
    mutationFn: async (): Promise<Connection> => {
      const ref = draft.ref.trim();
      const name = draft.name.trim();
      const body = { spec: { provider: 'hcloud' as const, token: token.trim(), ...(name === '' ? {} : { name }) } };
      const answer =
        ref === ''
          ? await corral.createConnection({ team }, { body, idempotencyKey })
          : await corral.putConnection({ team, ref }, { body, ifNoneMatch: '*' });
      return answer.body;
    },
    onSuccess: async ({ metadata: { ref } }) => {
      clearDraft();
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'connections'] });
      await navigate({ to: '/teams/$team/connections/$ref', params: { team, ref } });
    },
    onError: (error) => {
      if (isCorralError(error) && !error.isUnknownOutcome) setIdempotencyKey(newIdempotencyKey());
    },
  });
  const said = fieldMessages(connect.error);
  const isTaken = isCorralError(connect.error) && connect.error.status === 412;
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTokenMissing(token.trim() === '');
        if (token.trim() !== '') connect.mutate();
        else tokenInput.current?.focus();
      }}
    >
      <Stack gap="md" maw="36rem">
        <TextInput
          label="ID"
          description="Used in the specifications of clusters, and cannot change. Leave it empty to generate one."
          value={draft.ref}
          onChange={(event) => setDraft({ ...draft, ref: event.currentTarget.value })}
          error={isTaken ? `${draft.ref} exists. Choose another ref, or replace the token there.` : said['']}
          maxLength={clusterLimits.refCharacters}
          placeholder="main"
          classNames={{ input: 'mono' }}
          autoComplete="off"
          spellCheck={false}
        />
        <TextInput
          label="Name (optional)"
          value={draft.name}
          onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
          error={said['/spec/name']}
          maxLength={clusterLimits.connectionNameCharacters}
          autoComplete="off"
        />
        <TokenField
          label="API token of the project"
          inputRef={tokenInput}
          value={token}
          onChange={setToken}
          error={isTokenMissing && token.trim() === '' ? 'Paste the token of the project.' : said['/spec/token']}
        />
        <Group>
          <Button type="submit" variant="filled" loading={connect.isPending}>
            Connect project
          </Button>
        </Group>
        {connect.error !== null && !isTaken && <Failed error={connect.error} what="The project was not connected." />}
      </Stack>
    </form>
  );
}
