import { isCorralError, newIdempotencyKey } from '@corral/client';
import { joinsByCommand, type ProjectServer } from '@corral/contracts';
import { Button, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Panel } from '../ui/columns.js';
import { Failed } from '../ui/states.js';
import { type AdoptionDraft, adoptionSpec, nameToType, WIPE } from './adoption.js';

export interface ConfirmAdoptionProps {
  readonly connectionRef: string;
  readonly draft: AdoptionDraft;
  readonly found: ProjectServer | null;
  readonly onAdopted: () => void;
}

/** Says what is lost, and asks for the name of the server and the word. Neither is stored: a reload asks again. */
export function ConfirmAdoption({ connectionRef, draft, found, onAdopted }: ConfirmAdoptionProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const [typedName, setTypedName] = useState('');
  const [typedWord, setTypedWord] = useState('');
  const [isRefused, setRefused] = useState(false);
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const spec = adoptionSpec(draft, found);
  const name = nameToType(draft, found);
  const isMachine = joinsByCommand(draft.kind);
  const adopt = useMutation({
    mutationFn: (complete: NonNullable<typeof spec>) => {
      // What was typed is sent, so that the API judges the same word.
      const body = { spec: complete, acknowledge: { confirm: typedWord.trim() } };
      return bodyOf(corral.adoptServer({ team, ref: connectionRef }, { body, idempotencyKey }));
    },
    onSuccess: async () => {
      onAdopted();
      announce(`Adopting ${name}`);
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'servers', connectionRef] });
      await navigate({ to: '/teams/$team/connections/$ref', params: { team, ref: connectionRef } });
    },
    onError: (error) => {
      if (isCorralError(error) && !error.isUnknownOutcome) setIdempotencyKey(newIdempotencyKey());
    },
  });
  if (spec === null) {
    return (
      <Panel>
        <h2>Adopt</h2>
        <p className="muted">
          {isMachine ? 'Fill in what the machine is.' : 'Choose the server, and compare its name.'} Nothing is changed
          before you confirm it here.
        </p>
      </Panel>
    );
  }
  const isNameRight = typedName.trim() === name;
  const isWordRight = typedWord.trim() === WIPE;
  return (
    <Panel>
      <h2>Adopt {name}</h2>
      <p>
        <strong>All data on {isMachine ? 'the machine' : 'its disk'} is destroyed.</strong>{' '}
        {isMachine
          ? 'A cluster takes over the machine completely, once you run the join command on it.'
          : 'Its operating system is rebuilt. Its number, addresses, networks, volumes, firewalls and labels stay, and attached volumes keep their data.'}
      </p>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setRefused(!isNameRight || !isWordRight);
          if (isNameRight && isWordRight) adopt.mutate(spec);
        }}
      >
        <Stack>
          <TextInput
            label={`Type ${name}, the ${isMachine ? 'number of the machine' : 'name of the server'}`}
            value={typedName}
            onChange={(event) => setTypedName(event.currentTarget.value)}
            error={isRefused && !isNameRight ? `This is not ${name}.` : undefined}
            classNames={{ input: 'mono' }}
            autoComplete="off"
            spellCheck={false}
          />
          <TextInput
            label={`Type ${WIPE} to destroy its data`}
            value={typedWord}
            onChange={(event) => setTypedWord(event.currentTarget.value)}
            error={isRefused && !isWordRight ? `Type ${WIPE} in capital letters.` : undefined}
            classNames={{ input: 'mono' }}
            autoComplete="off"
            spellCheck={false}
          />
          <div>
            <Button type="submit" variant="filled" color="bad" loading={adopt.isPending}>
              Wipe and adopt {name}
            </Button>
          </div>
        </Stack>
      </form>
      {adopt.error !== null && <Failed error={adopt.error} what="The server was not adopted." />}
    </Panel>
  );
}
