import { CorralError } from '@corral/client';
import { clusterPhases, connectionPhases, operationStates, serverPhases } from '@corral/contracts';
import {
  Button,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  Radio,
  SegmentedControl,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiFormFrame, FormRow, useApiForm } from '../ui/api-form.js';
import { Columns, Panel } from '../ui/columns.js';
import { Copyable, Snippet } from '../ui/copy.js';
import { DangerAction } from '../ui/danger.js';
import { Facts } from '../ui/facts.js';
import { LinkButton } from '../ui/link-button.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Failed, Loading } from '../ui/states.js';
import { ClusterStatus, ConnectionStatus, Meter, OperationStatus, ServerStatus, Status } from '../ui/status.js';
import { Table } from '../ui/table.js';
import { Expiry, Lasting, Time } from '../ui/time.js';

const LONG = 'a-name-that-is-much-longer-than-names-usually-are-and-has-no-place-to-break.example.test';
const refused = new CorralError({
  status: 422,
  code: 'validation_failed',
  detail: 'The request is not valid.',
  requestId: '3f0c5a52-9f1f-4c55-8f0e-0d3a1f6a3b52',
});
const limited = new CorralError({ status: 429, code: 'rate_limit_exceeded', detail: 'Wait.', retryAfterMs: 30_000 });
const never = () => new Promise<never>(() => undefined);

/** One section per file of `src/ui`. */
export function Gallery() {
  return (
    <Page aside={<Status tone="good">aside</Status>} actions={<Button variant="filled">Main action</Button>}>
      <Buttons />
      <States />
      <Statuses />
      <Fields />
      <Tables />
      <Texts />
    </Page>
  );
}

const variants = ['filled', 'default', 'subtle'] as const;

const Buttons = () => (
  <Section title="Buttons">
    {variants.map((variant) => (
      <Group key={variant}>
        <Button variant={variant}>{variant}</Button>
        <Button variant={variant} color="bad">
          {variant}, dangerous
        </Button>
        <Button variant={variant} loading>
          {variant}, busy
        </Button>
        <Button variant={variant} disabled>
          {variant}, disabled
        </Button>
      </Group>
    ))}
    <Group>
      <LinkButton to="/">A link</LinkButton>
      <DangerAction label="Delete …" title="Delete web" confirmation="web" action="Delete cluster" onConfirm={never}>
        <p>Its nodes and volumes are deleted.</p>
      </DangerAction>
    </Group>
  </Section>
);

const States = () => (
  <Section title="States">
    <Loading what="clusters" />
    <Empty>Nothing is here.</Empty>
    <Empty action={<Button>Create one</Button>}>Nothing is here, with what to do about it.</Empty>
    <Failed error={refused} what="The cluster was not created." />
    <Failed error={limited} what="The clusters could not be loaded." onRetry={never} />
    <Failed error={new Error('any')} />
  </Section>
);

const Statuses = () => (
  <Section title="Status">
    <Group>
      {clusterPhases.map((phase) => (
        <ClusterStatus key={phase} phase={phase} />
      ))}
    </Group>
    <Group>
      <ClusterStatus phase="Ready" waits />
      {connectionPhases.map((phase) => (
        <ConnectionStatus key={phase} phase={phase} />
      ))}
    </Group>
    <Group>
      {serverPhases.map((phase) => (
        <ServerStatus key={phase} phase={phase} />
      ))}
    </Group>
    <Group>
      {operationStates.map((state) => (
        <OperationStatus key={state} state={state} />
      ))}
    </Group>
    {[0, 45, 92, 100].map((percent) => (
      <Group key={percent}>
        <Meter percent={percent} label="progress" />
        <Meter percent={percent} label="quota" isQuota />
      </Group>
    ))}
  </Section>
);

const options = ['one', 'two', 'three'];

function Fields() {
  const form = useApiForm({ initial: { name: '', role: 'one' }, send: never });
  return (
    <Section title="Fields">
      <ApiFormFrame form={form} label="In a row" action="Send" isRow>
        <TextInput label="Name" {...form.fields.getInputProps('name')} />
        <NativeSelect label="Role" data={options} {...form.fields.getInputProps('role')} />
      </ApiFormFrame>
      <ApiFormFrame
        form={{ ...form, error: refused }}
        label="In a column"
        action="Create"
        failure="It was not created."
        onCancel={never}
      >
        <TextInput
          label="Name"
          description="What it is for."
          error="It must have 1 to 20 characters."
          defaultValue="x y"
        />
        <Textarea label="Further conditions" placeholder="claim=value" />
        <FormRow>
          <NumberInput label="Days" defaultValue={90} />
          <TextInput label="Location" disabled defaultValue="fsn1" />
        </FormRow>
        <Checkbox.Group label="Types" defaultValue={['one']} error="Choose at least two.">
          <Group mt="xs">
            {options.map((value) => (
              <Checkbox key={value} value={value} label={value} />
            ))}
          </Group>
        </Checkbox.Group>
        <Radio.Group label="Names" defaultValue="two">
          <Stack gap="xs">
            {options.map((value) => (
              <Radio key={value} value={value} label={value} size="xs" />
            ))}
          </Stack>
        </Radio.Group>
        <Switch label="Keys as shortcuts" defaultChecked />
        <SegmentedControl size="xs" data={options} />
      </ApiFormFrame>
    </Section>
  );
}

interface Row {
  readonly name: string;
  readonly nodes: number;
  readonly state: ReactNode;
}

const rows: readonly Row[] = [
  { name: 'web', nodes: 3, state: <Status tone="good">Ready</Status> },
  { name: LONG, nodes: 120, state: <Status tone="running">Updating</Status> },
];

const Tables = () => (
  <Section title="Table">
    <Table
      caption="Clusters"
      rows={rows}
      rowKey={({ name }) => name}
      initialSort="Name"
      columns={{
        Name: { isLong: true, sortBy: ({ name }) => name, cell: ({ name }) => name },
        State: ({ state }) => state,
        Nodes: { alignEnd: true, sortBy: ({ nodes }) => nodes, cell: ({ nodes }) => nodes },
      }}
    />
    <Table
      caption="Narrow"
      isNarrow
      rows={rows.slice(0, 1)}
      rowKey={({ name }) => name}
      columns={{ Name: ({ name }) => name, Nodes: { alignEnd: true, cell: ({ nodes }) => nodes } }}
    />
  </Section>
);

/** @param hours from the time that is shown */
const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

const Texts = () => (
  <Section title="Texts">
    <Columns
      aside={
        <Panel>
          <h3>Beside it</h3>
          <p className="muted">What it would do.</p>
        </Panel>
      }
    >
      <Facts
        facts={[
          { label: 'Name', value: <Copyable text={LONG} /> },
          { label: 'Changed', value: <Time at={at(-5)} /> },
          { label: 'Waits', value: <Lasting since={at(-1)} /> },
          { label: 'Ends', value: <Expiry at={at(300)} /> },
        ]}
      />
      <Snippet label="query" text={`dig +short ${LONG} A`} />
    </Columns>
  </Section>
);
