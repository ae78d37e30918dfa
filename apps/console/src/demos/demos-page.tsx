import { isCorralError } from '@corral/client';
import { type DemoBody, dnsLimits } from '@corral/contracts';
import { Button, Group, Menu, NativeSelect, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { bodyOf } from '../api/corral.js';
import { dnsOf } from '../api/dns-client.js';
import { demosQuery, dnsZoneQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, FormRow, useApiForm } from '../ui/api-form.js';
import { Panel } from '../ui/columns.js';
import { Copyable, Snippet } from '../ui/copy.js';
import { DangerAction } from '../ui/danger.js';
import { Page, Section } from '../ui/page.js';
import { dayOf } from '../ui/relative-time.js';
import { ShownOnce } from '../ui/shown-once.js';
import { Empty, Failed } from '../ui/states.js';
import { LoadedTable } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { LONGEST, longerLifetimes, newLifetimes } from './demo-lifetimes.js';

/** Short-lived names with a token each, for workshops and previews. */
export function DemosPage() {
  const { slug: team, can } = useTeam();
  const demos = useQuery(demosQuery(team));
  const place = useQuery(dnsZoneQuery(team));
  const [created, setCreated] = useState<NewDemo | null>(null);
  const [isCreating, setCreating] = useState(false);
  useFocusKept('[data-shortcut="n"]', `${isCreating} ${created?.demo.label} ${demos.data?.length}`);
  if (isCorralError(demos.error) && demos.error.status === 404 && demos.data === undefined) {
    return (
      <Page>
        <Empty>This installation has no demos. Its operators can switch them on.</Empty>
      </Page>
    );
  }
  return (
    <Page
      actions={
        can('createDemo') &&
        created === null &&
        !isCreating && (
          <Button variant="filled" data-shortcut="n" onClick={() => setCreating(true)}>
            Create demo
          </Button>
        )
      }
    >
      <p className="muted">
        A demo is a name of its own for some hours, with a token that can write nothing else. Its records are deleted
        when it ends. {demos.data && `${demos.data.length} of ${dnsLimits.demosPerTeam} demos run.`}
      </p>
      {isCreating && (
        <CreateDemo
          onCancel={() => setCreating(false)}
          onCreated={(demo) => {
            setCreated(demo);
            setCreating(false);
          }}
        />
      )}
      {created !== null && (
        <CreatedDemo created={created} endpoint={place.data?.endpoint ?? null} onStored={() => setCreated(null)} />
      )}
      <DemoTable />
    </Page>
  );
}

const emptyDraft = { name: '', seconds: String(dnsLimits.demoTtlSecondsDefault) };

interface CreateDemoProps {
  readonly onCancel: () => void;
  readonly onCreated: (demo: NewDemo) => void;
}

function CreateDemo({ onCancel, onCreated }: CreateDemoProps) {
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

/** The answer to the creation of a demo. */
interface NewDemo {
  readonly demo: DemoBody;
  readonly token: string;
}

interface CreatedDemoProps {
  readonly created: NewDemo;
  /** Null while it is not known. */
  readonly endpoint: string | null;
  readonly onStored: () => void;
}

/** A new demo with its token, and what to give to the person who works with it. */
function CreatedDemo({ created: { demo, token }, endpoint, onStored }: CreatedDemoProps) {
  const { label, zone, expires_at } = demo;
  const commands = `export HCLOUD_ENDPOINT=${endpoint}
export HCLOUD_TOKEN=${token}
hcloud zone rrset create --name ${label} --type A --record 192.0.2.10 ${zone}
dig +short ${label}.${zone}`;
  return (
    <Panel>
      <Section title={`Demo ${label} created`}>
        <p>
          <Copyable text={`${label}.${zone}`} /> and names below it, until <Expiry at={expires_at} />.
        </p>
        <ShownOnce
          secret={token}
          what="the token of the demo"
          remedy="If it is lost, end the demo and create another."
          onStored={onStored}
        >
          {endpoint !== null && <Snippet text={commands} label="commands for the demo" />}
        </ShownOnce>
      </Section>
    </Panel>
  );
}

/** The live demos, and what can be done with each. */
function DemoTable() {
  const cache = useQueryClient();
  const { slug: team, can } = useTeam();
  const demos = useQuery(demosQuery(team));
  const reload = () => cache.invalidateQueries({ queryKey: demosQuery(team).queryKey });
  const extend = useMutation({
    mutationFn: async ({ label, seconds }: { label: string; seconds: number }) =>
      (await dnsOf(team)).client.extendDemo({ label }, { body: { ttl: seconds } }),
    onSuccess: async (_answer, { label }) => {
      await reload();
      announce(`${label} has another end`);
    },
  });
  const end = async (label: string) => {
    await (await dnsOf(team)).client.deleteDemo({ label });
    announce(`${label} has ended`);
    await reload();
  };
  return (
    <>
      <LoadedTable
        query={demos}
        what="demos"
        empty="No demos yet. A demo is a name that cleans up after itself."
        caption="Demos"
        rowKey={({ label }) => label}
        initialSort="Ends"
        columns={{
          Name: { sortBy: ({ label }) => label, cell: ({ label, zone }) => <Copyable text={`${label}.${zone}`} /> },
          Records: {
            alignEnd: true,
            sortBy: ({ records }) => records,
            cell: ({ records }) => `${records} of ${dnsLimits.recordsPerDemo}`,
          },
          Created: { sortBy: ({ created_at }) => created_at, cell: ({ created_at }) => <Time at={created_at} /> },
          Ends: { sortBy: ({ expires_at }) => expires_at, cell: ({ expires_at }) => <Expiry at={expires_at} /> },
          'Latest end': {
            isLong: true,
            sortBy: ({ max_expires_at }) => max_expires_at,
            cell: ({ max_expires_at }) => <Expiry at={max_expires_at} />,
          },
          ...(can('deleteDemo') && {
            Actions: (demo: DemoBody) => (
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                <ExtendMenu demo={demo} onExtend={(seconds) => extend.mutate({ label: demo.label, seconds })} />
                <DangerAction
                  label="End"
                  target={demo.label}
                  button={{ variant: 'default', size: 'compact-xs' }}
                  action="End demo"
                  onConfirm={() => end(demo.label)}
                >
                  <p>
                    Its token is revoked and its {demo.records} records are deleted, now. The name stays reserved for an
                    hour, since caches may still have it.
                  </p>
                </DangerAction>
              </Group>
            ),
          }),
        }}
      />
      {extend.error !== null && <Failed error={extend.error} what={`${extend.variables.label} was not extended.`} />}
    </>
  );
}

function ExtendMenu({ demo, onExtend }: { readonly demo: DemoBody; readonly onExtend: (seconds: number) => void }) {
  const options = longerLifetimes(demo, Date.now());
  const end = Date.parse(demo.max_expires_at);
  return (
    <Menu>
      <Menu.Target>
        <Button size="compact-xs" aria-label={`Extend ${demo.label}`}>
          Extend
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {options.map(({ label, seconds }) => (
          <Menu.Item key={label} onClick={() => onExtend(seconds)}>
            {label === LONGEST ? `Until ${dayOf(end)} (maximum)` : `${label} from now`}
          </Menu.Item>
        ))}
        {options.length === 0 && <Menu.Label>It ends as late as it can: 7 days after its beginning.</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}
