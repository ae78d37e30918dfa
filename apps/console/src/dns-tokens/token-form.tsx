import { type WritableType, writableTypes } from '@corral/contracts';
import { Button, Checkbox, Group, NativeSelect, Radio, Stack, TextInput } from '@mantine/core';
import '../ui/radio.css';
import { useRef } from 'react';
import { type Lifetime, purposes, type TokenDraft, type TokenField } from './token-draft.js';

export interface TokenFormProps {
  readonly team: string;
  readonly zone: string;
  readonly draft: TokenDraft;
  readonly onChange: (draft: TokenDraft) => void;
  readonly problems: Partial<Record<TokenField, string>>;
  readonly isPending: boolean;
  readonly onSubmit: () => void;
}

const lifetimes: readonly { readonly value: Lifetime; readonly label: string }[] = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
  { value: 'date', label: 'until a day' },
  { value: 'never', label: 'until it is revoked' },
];

/** Narrows a token step by step: what for, which names, which types, how long. */
export function TokenForm({ team, zone, draft, onChange, problems, isPending, onSubmit }: TokenFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const set = (change: Partial<TokenDraft>) => onChange({ ...draft, ...change });
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
        // The first invalid field takes the focus once the problems are rendered.
        setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
      }}
    >
      <Stack gap="md">
        <TextInput
          label="Name"
          description="Shown in lists and in the audit log."
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          error={problems.name}
          autoComplete="off"
        />
        <Group gap="xs" role="group" aria-label="Start from">
          <span className="muted">Start from</span>
          {purposes.map(({ id, label, narrowing }) => (
            <Button key={id} onClick={() => set(narrowing(team))}>
              {label}
            </Button>
          ))}
        </Group>
        <Radio.Group
          label="Names"
          value={draft.isNarrowed ? 'narrowed' : 'all'}
          onChange={(value) => set({ isNarrowed: value === 'narrowed' })}
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
            value={draft.withinName}
            onChange={(event) => set({ withinName: event.currentTarget.value })}
            error={problems.withinName}
            classNames={{ input: 'mono' }}
            placeholder={`ci.${team}`}
            spellCheck={false}
            autoComplete="off"
          />
        )}
        <Checkbox.Group
          label="Types that it can write"
          description="None ticked: all types. Reading is not limited by type."
          value={[...draft.types]}
          onChange={(types) => set({ types: types as WritableType[] })}
        >
          <Group gap="md" mt={4}>
            {writableTypes.map((type) => (
              <Checkbox key={type} value={type} label={type} />
            ))}
          </Group>
        </Checkbox.Group>
        <Group align="flex-start">
          <NativeSelect
            label="Valid for"
            data={[...lifetimes]}
            value={draft.lifetime}
            onChange={(event) => set({ lifetime: event.currentTarget.value as Lifetime })}
            error={draft.lifetime === 'date' ? undefined : problems.expiresAt}
          />
          {draft.lifetime === 'date' && (
            <TextInput
              type="date"
              label="Last day (UTC)"
              value={draft.lastDay}
              onChange={(event) => set({ lastDay: event.currentTarget.value })}
              error={problems.expiresAt}
            />
          )}
        </Group>
        <Group>
          <Button type="submit" variant="filled" loading={isPending}>
            Create token
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
