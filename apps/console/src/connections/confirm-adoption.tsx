import { joinsByCommand, type ProjectServer } from '@corral/contracts';
import { TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { bodyOf, corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { Panel } from '../ui/columns.js';
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
  const spec = adoptionSpec(draft, found);
  const name = nameToType(draft, found);
  const isMachine = joinsByCommand(draft.kind);
  const form = useApiForm({
    initial: { name: '', word: '' },
    check: (values) => ({
      name: values.name.trim() === name ? null : `This is not ${name}.`,
      word: values.word.trim() === WIPE ? null : `Type ${WIPE} in capital letters.`,
    }),
    aliases: { confirm: 'word' },
    send: ({ word }, idempotencyKey) => {
      // What was typed is sent, so that the API judges the same word.
      const body = { spec: spec as NonNullable<typeof spec>, acknowledge: { confirm: word.trim() } };
      return bodyOf(corral.adoptServer({ team, ref: connectionRef }, { body, idempotencyKey }));
    },
    onSaved: async () => {
      onAdopted();
      announce(`Adopting ${name}`);
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'servers', connectionRef] });
      await navigate({ to: '/teams/$team/connections/$ref', params: { team, ref: connectionRef } });
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
  return (
    <Panel>
      <h2>Adopt {name}</h2>
      <p>
        <strong>All data on {isMachine ? 'the machine' : 'its disk'} is destroyed.</strong>{' '}
        {isMachine
          ? 'A cluster takes over the machine completely, once you run the join command on it.'
          : 'Its operating system is rebuilt. Its number, addresses, networks, volumes, firewalls and labels stay, and attached volumes keep their data.'}
      </p>
      <ApiFormFrame form={form} action={`Wipe and adopt ${name}`} failure="The server was not adopted." isDangerous>
        <TextInput
          label={`Type ${name}, the ${isMachine ? 'number of the machine' : 'name of the server'}`}
          {...typed}
          {...form.fields.getInputProps('name')}
        />
        <TextInput label={`Type ${WIPE} to destroy its data`} {...typed} {...form.fields.getInputProps('word')} />
      </ApiFormFrame>
    </Panel>
  );
}

const typed = { classNames: { input: 'mono' }, autoComplete: 'off', spellCheck: false } as const;
