import type { ServiceAccountBody } from '@corral/contracts';
import { clusterLimits, isClusterName, textRules } from '@corral/contracts';
import { Button, Group, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { accountsQuery, accountTokensQuery } from '../api/queries.js';
import { fieldMessages } from '../connections/field-messages.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Section } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { Table } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { useDraft } from '../ui/use-draft.js';
import { emptyRobot, isActiveToken, narrowingText, RobotFields, specOf } from './robot-fields.js';

/** The service accounts of the team: access of programs. */
export function Robots() {
  const { slug } = useTeam();
  const accounts = useQuery(accountsQuery(slug));
  const [isCreating, setCreating] = useState(false);
  return (
    <Section title="Robots" actions={!isCreating && <Button onClick={() => setCreating(true)}>New robot</Button>}>
      <p className="muted">A robot is a service account: access of a program to the cluster API.</p>
      <Loaded query={accounts} what="the robots">
        {(all) => (
          <>
            {isCreating && <CreateRobot team={slug} existing={all} onClose={() => setCreating(false)} />}
            {all.length === 0 ? (
              <Empty>No robots. Pipelines and scripts need one.</Empty>
            ) : (
              <RobotTable team={slug} accounts={all} />
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}

function RobotTable({ team, accounts }: { readonly team: string; readonly accounts: readonly ServiceAccountBody[] }) {
  return (
    <Table
      caption="Robots"
      rows={accounts}
      rowKey={({ metadata }) => metadata.id}
      columns={[
        {
          id: 'name',
          label: 'Name',
          sortBy: ({ metadata }) => metadata.name,
          cell: ({ metadata: { name: account } }) => (
            <Link to="/teams/$team/access/robots/$account" params={{ team, account }} className="mono">
              {account}
            </Link>
          ),
        },
        { id: 'role', label: 'Role', cell: ({ spec }) => spec.role },
        { id: 'narrowing', label: 'May', isLong: true, cell: ({ spec }) => narrowingText(spec.narrowing) },
        { id: 'use', label: 'Tokens', cell: ({ metadata }) => <Tokens team={team} account={metadata.name} /> },
      ]}
    />
  );
}

function Tokens({ team, account }: { readonly team: string; readonly account: string }) {
  const { data } = useQuery(accountTokensQuery(team, account));
  if (data === undefined) return null;
  const used = data.flatMap(({ lastUsedAt }) => lastUsedAt ?? []).sort();
  const newest = used.at(-1);
  return (
    <>
      {data.filter((token) => isActiveToken(token, Date.now())).length} active,{' '}
      {newest === undefined ? (
        'never used'
      ) : (
        <>
          last used <Time at={newest} />
        </>
      )}
    </>
  );
}

interface CreateRobotProps {
  readonly team: string;
  readonly existing: readonly ServiceAccountBody[];
  readonly onClose: () => void;
}

function CreateRobot({ team, existing, onClose }: CreateRobotProps) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [draft, setDraft, clear] = useDraft(`${team}.robot`, { ...emptyRobot, name: '' });
  const name = draft.name.trim();
  // A declaration of an existing account would change it.
  const isTaken = existing.some(({ metadata }) => metadata.name === name);
  const create = useMutation({
    mutationFn: () => corral.putServiceAccount({ team, account: name }, { body: { spec: specOf(draft) } }),
    onSuccess: async () => {
      clear();
      announce(`Created the robot ${name}`);
      await cache.invalidateQueries({ queryKey: accountsQuery(team).queryKey });
      await navigate({ to: '/teams/$team/access/robots/$account', params: { team, account: name } });
    },
  });
  return (
    <form
      aria-label="New robot"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isTaken) create.mutate();
      }}
    >
      <TextInput
        label="Name"
        description="Part of its address; cannot change. Lower-case letters, digits and hyphens."
        required
        maxLength={clusterLimits.clusterNameCharacters}
        value={draft.name}
        onChange={({ currentTarget }) => {
          const isValid = currentTarget.value === '' || isClusterName(currentTarget.value.trim());
          currentTarget.setCustomValidity(isValid ? '' : `The name ${textRules.name.must}.`);
          setDraft({ ...draft, name: currentTarget.value });
        }}
        error={isTaken && `${name} exists. Open it to change it.`}
        w="20rem"
        data-autofocus
        autoFocus
      />
      <RobotFields
        draft={draft}
        onDraft={(fields) => setDraft({ ...draft, ...fields })}
        errors={fieldMessages(create.error)}
      />
      {create.error !== null && <Failed error={create.error} what="No robot was created." />}
      <Group mt="sm">
        <Button type="submit" variant="filled" loading={create.isPending}>
          Create robot
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </Group>
    </form>
  );
}
