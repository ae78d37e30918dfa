import { dnsLimits } from '@corral/contracts';
import { NativeSelect, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { bodyOf } from '../api/corral.js';
import { dnsOf } from '../api/dns-client.js';
import { teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { ApiFormFrame, FormRow, useApiForm } from '../ui/api-form.js';
import { Panel } from '../ui/columns.js';
import { Section } from '../ui/page.js';
import type { NewDemo } from './created-demo.js';
import { newLifetimes } from './demo-lifetimes.js';

const emptyDraft = { name: '', seconds: String(dnsLimits.demoTtlSecondsDefault) };

export interface CreateDemoProps {
  readonly onCancel: () => void;
  readonly onCreated: (demo: NewDemo) => void;
}

export function CreateDemo({ onCancel, onCreated }: CreateDemoProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const form = useApiForm({
    initial: emptyDraft,
    draft: `demo.${team}`,
    send: async ({ name, seconds }) => {
      const body = { ttl: Number(seconds), ...(name.trim() === '' ? {} : { name: name.trim() }) };
      return bodyOf((await dnsOf(team)).client.createDemo({}, { body }));
    },
    onSaved: (demo) => {
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'demos'] });
      onCreated(demo);
    },
  });
  const { fields } = form;
  return (
    <Panel>
      <Section title="Create demo">
        <ApiFormFrame form={form} action="Create demo" failure="The demo was not created." onCancel={onCancel}>
          <FormRow>
            <TextInput
              data-autofocus
              autoFocus
              label="Name"
              description="Empty: a random one. Its label is made of lower-case letters, digits and hyphens."
              maxLength={dnsLimits.demoNameCharacters}
              autoComplete="off"
              {...fields.getInputProps('name')}
            />
            <NativeSelect
              label="Ends in"
              description="It can be extended to 7 days in all."
              data={newLifetimes.map(({ label, seconds }) => ({ label, value: String(seconds) }))}
              {...fields.getInputProps('seconds')}
            />
          </FormRow>
        </ApiFormFrame>
      </Section>
    </Panel>
  );
}
