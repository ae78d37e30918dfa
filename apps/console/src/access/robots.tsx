import type { ServiceAccountBody } from '@corral/contracts';
import { clusterLimits } from '@corral/contracts';
import { Button, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { accountsQuery, accountTokensQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { newNameProblem } from '../ui/new-name.js';
import { Section } from '../ui/page.js';
import { LoadedTable } from '../ui/table.js';
import { Time } from '../ui/time.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import {
  actionsProblem,
  emptyRobot,
  isActiveToken,
  narrowingText,
  type RobotDraft,
  RobotFields,
  specOf,
} from './robot-fields.js';

/** The service accounts of the team: access of programs. */
export function Robots() {
  const { slug } = useTeam();
  const accounts = useQuery(accountsQuery(slug));
  const [isCreating, setCreating] = useState(false);
  useFocusKept('[data-opens="robot"]', isCreating);
  return (
    <Section
      title="Robots"
      actions={
        !isCreating && (
          <Button data-opens="robot" onClick={() => setCreating(true)}>
            New robot
          </Button>
        )
      }
    >
      <p className="muted">A robot is a service account: access of a program to the cluster API.</p>
      {isCreating && accounts.data !== undefined && (
        <CreateRobot existing={accounts.data} onClose={() => setCreating(false)} />
      )}
      <LoadedTable
        query={accounts}
        what="the robots"
        empty="No robots. Pipelines and scripts need one."
        caption="Robots"
        rowKey={({ metadata }) => metadata.id}
        columns={{
          Name: {
            sortBy: ({ metadata }) => metadata.name,
            cell: ({ metadata: { name: account } }) => (
              <Link to="/teams/$team/access/robots/$account" params={{ team: slug, account }} className="mono">
                {account}
              </Link>
            ),
          },
          Role: ({ spec }) => spec.role,
          May: { isLong: true, cell: ({ spec }) => narrowingText(spec.narrowing) },
          Tokens: ({ metadata }) => <Tokens account={metadata.name} />,
        }}
      />
    </Section>
  );
}

function Tokens({ account }: { readonly account: string }) {
  const { slug: team } = useTeam();
  const { data } = useQuery(accountTokensQuery(team, account));
  if (data === undefined) return null;
  const used = data.flatMap(({ lastUsedAt }) => lastUsedAt ?? []).sort();
  const newest = used.at(-1);
  return (
    <span>
      {data.filter((token) => isActiveToken(token, Date.now())).length} active,{' '}
      {newest === undefined ? (
        'never used'
      ) : (
        <>
          last used <Time at={newest} />
        </>
      )}
    </span>
  );
}

interface CreateRobotProps {
  readonly existing: readonly ServiceAccountBody[];
  readonly onClose: () => void;
}

function CreateRobot({ existing, onClose }: CreateRobotProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const form = useApiForm({
    initial: { ...emptyRobot, name: '' },
    draft: `${team}.robot`,
    check: ({ name: typed, actions }) => ({
      name: newNameProblem(typed.trim(), existing, 'Open it to change it.'),
      actions: actionsProblem(actions),
    }),
    send: ({ name, ...draft }) =>
      bodyOf(corral.putServiceAccount({ team, account: name.trim() }, { body: { spec: specOf(draft) } })),
    onSaved: async ({ metadata: { name: account } }) => {
      announce(`Created the robot ${account}`);
      await cache.invalidateQueries({ queryKey: accountsQuery(team).queryKey });
      await navigate({ to: '/teams/$team/access/robots/$account', params: { team, account } });
    },
  });
  return (
    <ApiFormFrame
      form={form}
      label="New robot"
      action="Create robot"
      failure="No robot was created."
      onCancel={onClose}
    >
      <TextInput
        label="Name"
        description="Part of its address; cannot change. Lower-case letters, digits and hyphens."
        maxLength={clusterLimits.clusterNameCharacters}
        w="20rem"
        data-autofocus
        autoFocus
        {...form.fields.getInputProps('name')}
      />
      <RobotFields fields={form.fields as UseFormReturnType<RobotDraft>} />
    </ApiFormFrame>
  );
}
