import { isCorralError } from '@corral/client';
import { dnsLimits } from '@corral/contracts';
import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { bodyOf } from '../api/corral.js';
import { dnsOf } from '../api/dns-client.js';
import { teamKey } from '../api/queries.js';
import { Panel } from '../ui/columns.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import type { NewDemo } from './created-demo.js';
import { newLifetimes } from './demo-lifetimes.js';

const emptyDraft = { name: '', seconds: String(dnsLimits.demoTtlSecondsDefault) };

export interface CreateDemoProps {
  readonly team: string;
  readonly onCancel: () => void;
  readonly onCreated: (demo: NewDemo) => void;
}

export function CreateDemo({ team, onCancel, onCreated }: CreateDemoProps) {
  const cache = useQueryClient();
  const [draft, setDraft, clearDraft] = useDraft(`demo.${team}`, emptyDraft);
  const create = useMutation({
    // The token does not stay in memory longer than the form.
    gcTime: 0,
    mutationFn: async () => {
      const name = draft.name.trim();
      const body = { ttl: Number(draft.seconds), ...(name === '' ? {} : { name }) };
      return bodyOf((await dnsOf(team)).client.createDemo({}, { body }));
    },
    onSuccess: (demo) => {
      clearDraft();
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'demos'] });
      onCreated(demo);
    },
  });
  const problem = isCorralError(create.error)
    ? create.error.errors.find(({ pointer }) => pointer === '/name')
    : undefined;
  return (
    <Panel>
      <Section title="Create demo">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onCancel();
          }}
        >
          <Group align="flex-start">
            <TextInput
              data-autofocus
              autoFocus
              label="Name"
              description="Empty: a random one. Its label is made of lower-case letters, digits and hyphens."
              value={draft.name}
              maxLength={dnsLimits.demoNameCharacters}
              onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
              error={problem && `It ${problem.message}.`}
              autoComplete="off"
            />
            <NativeSelect
              label="Ends in"
              description="It can be extended to 7 days in all."
              data={newLifetimes.map(({ label, seconds }) => ({ label, value: String(seconds) }))}
              value={draft.seconds}
              onChange={(event) => setDraft({ ...draft, seconds: event.currentTarget.value })}
            />
          </Group>
          <Group mt="md">
            <Button type="submit" variant="filled" loading={create.isPending}>
              Create demo
            </Button>
            <Button onClick={onCancel}>Cancel</Button>
          </Group>
        </form>
        {create.error !== null && <Failed error={create.error} what="The demo was not created." />}
      </Section>
    </Panel>
  );
}
