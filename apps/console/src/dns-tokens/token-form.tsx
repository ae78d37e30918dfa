import { writableTypes } from '@corral/contracts';
import { Button, Checkbox, Group, NativeSelect, Radio, Stack, TextInput } from '@mantine/core';
import { useTeam } from '../shell/use-team.js';
import '../ui/radio.css';
import { type ApiForm, ApiFormFrame, FormRow } from '../ui/api-form.js';
import { type Lifetime, purposes, type TokenDraft } from './token-draft.js';

const lifetimes: readonly { readonly value: Lifetime; readonly label: string }[] = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
  { value: 'date', label: 'until a day' },
  { value: 'never', label: 'until it is revoked' },
];

/** Narrows a token step by step: what for, which names, which types, how long. */
export function TokenForm({ zone, form }: { readonly zone: string; readonly form: ApiForm<TokenDraft> }) {
  const { slug: team } = useTeam();
  const { fields } = form;
  const { values: draft, getInputProps } = fields;
  return (
    <ApiFormFrame form={form} action="Create token" failure="The token was not created.">
      <TextInput
        label="Name"
        description="Shown in lists and in the audit log."
        autoComplete="off"
        {...getInputProps('name')}
      />
      <Group gap="xs" role="group" aria-label="Start from">
        <span className="muted">Start from</span>
        {purposes.map(({ id, label, narrowing }) => (
          <Button key={id} onClick={() => fields.setValues(narrowing(team))}>
            {label}
          </Button>
        ))}
      </Group>
      <Radio.Group
        label="Names"
        value={draft.isNarrowed ? 'narrowed' : 'all'}
        onChange={(value) => fields.setFieldValue('isNarrowed', value === 'narrowed')}
      >
        <Stack gap="xs" mt={4}>
          <Radio value="all" label={`All names of ${team}`} size="xs" />
          <Radio value="narrowed" label="One name and those below it" size="xs" />
        </Stack>
      </Radio.Group>
      {draft.isNarrowed && (
        <TextInput
          label="The name"
          description={`Relative to ${zone}: ${team} or a name below it.`}
          classNames={{ input: 'mono' }}
          placeholder={`ci.${team}`}
          spellCheck={false}
          autoComplete="off"
          {...getInputProps('withinName')}
        />
      )}
      <Checkbox.Group
        label="Types that it can write"
        description="Leave empty for all types. Reading is not limited by type."
        {...getInputProps('types')}
      >
        <Group gap="md" mt={4}>
          {writableTypes.map((type) => (
            <Checkbox key={type} value={type} label={type} />
          ))}
        </Group>
      </Checkbox.Group>
      <FormRow>
        <NativeSelect label="Valid for" data={[...lifetimes]} {...getInputProps('lifetime')} />
        {draft.lifetime === 'date' && <TextInput type="date" label="Last day (UTC)" {...getInputProps('lastDay')} />}
      </FormRow>
    </ApiFormFrame>
  );
}
