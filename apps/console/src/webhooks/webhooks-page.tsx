import { clusterLimits, type TeamEventKind, teamEventKinds, type WebhookBody } from '@corral/contracts';
import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { webhooksQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { DangerAction } from '../ui/danger.js';
import { newNameProblem } from '../ui/new-name.js';
import { Page, Section } from '../ui/page.js';
import { ShownOnce } from '../ui/shown-once.js';
import { Failed } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { LoadedTable } from '../ui/table.js';
import { Lasting, Time } from '../ui/time.js';

interface Secret {
  readonly name: string;
  readonly text: string;
}

/** Addresses to which the events of the team are posted, and whether they accept them. */
export function WebhooksPage() {
  const { slug: team } = useTeam();
  const webhooks = useQuery(webhooksQuery(team));
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState<Secret | null>(null);
  const isFull = (webhooks.data?.length ?? 0) >= clusterLimits.webhooksPerTeam;
  return (
    <Page>
      <Section
        title="Webhooks"
        actions={
          !isAdding && secret === null && !isFull && <Button onClick={() => setAdding(true)}>Add a webhook</Button>
        }
      >
        <p className="muted">
          What happens in the team is posted to an address, signed as Standard Webhooks specify, in order and at least
          once.
        </p>
        {secret !== null && (
          <ShownOnce
            secret={secret.text}
            what={`the secret of ${secret.name}`}
            remedy="If it is lost, replace it."
            onStored={() => setSecret(null)}
          >
            <p>The receiver verifies each message with it.</p>
          </ShownOnce>
        )}
        {isAdding && (
          <AddWebhook
            existing={webhooks.data ?? []}
            onClose={() => setAdding(false)}
            onAdded={(added) => {
              setAdding(false);
              setSecret(added);
            }}
          />
        )}
        <LoadedTable
          query={webhooks}
          what="the webhooks"
          empty="There is no webhook."
          caption="Webhooks"
          rowKey={({ metadata }) => metadata.id}
          columns={{
            Name: ({ metadata }) => <span className="mono">{metadata.name}</span>,
            Address: { isLong: true, cell: ({ spec }) => spec.url },
            Events: ({ spec }) => spec.kinds.join(', ') || 'all',
            State: (webhook) => <State webhook={webhook} />,
            Actions: {
              alignEnd: true,
              cell: (webhook) => <Actions webhook={webhook} onSecret={setSecret} />,
            },
          }}
        />
      </Section>
    </Page>
  );
}

function State({ webhook: { status } }: { readonly webhook: WebhookBody }) {
  const { deliveredAt, failingSince, lastFailure, nextTryAt } = status;
  if (failingSince === null) {
    return <Status tone={deliveredAt === null ? 'idle' : 'good'}>{deliveredAt === null ? 'new' : 'ok'}</Status>;
  }
  return (
    <Stack gap={0}>
      <Status tone="bad">{`failing: ${lastFailure}`}</Status>
      <span className="muted">
        <Lasting since={failingSince} />
        {nextTryAt !== null && (
          <>
            , next try <Time at={nextTryAt} />
          </>
        )}
      </span>
    </Stack>
  );
}

interface ActionsProps {
  readonly webhook: WebhookBody;
  readonly onSecret: (secret: Secret) => void;
}

const DAY_MS = 86_400_000;
/** Less than a day by the clock of the API. */
const REPLAY_MS = DAY_MS - 600_000;

function Actions({ webhook: { metadata }, onSecret }: ActionsProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const { name } = metadata;
  const path = { team, webhook: name };
  const reload = () => cache.invalidateQueries({ queryKey: webhooksQuery(team).queryKey });
  const test = useMutation({
    mutationFn: () => corral.testWebhook(path),
    onSuccess: async () => {
      announce(`A test for ${name} is on its way`);
      await reload();
    },
  });
  const replay = async () => {
    const since = new Date(Date.now() - REPLAY_MS).toISOString();
    await corral.replayWebhook(path, { body: { since } });
    announce(`The events of the last day are sent to ${name} again`);
    await reload();
  };
  const replace = async () => {
    const { body } = await corral.createWebhookSecret(path);
    onSecret({ name, text: body.secret });
  };
  const remove = async () => {
    await corral.deleteWebhook(path);
    announce(`${name} is deleted`);
    await reload();
  };
  return (
    <Group gap="xs" justify="flex-end">
      <Button variant="subtle" loading={test.isPending} onClick={() => test.mutate()}>
        Test<span className="visually-hidden"> {name}</span>
      </Button>
      <DangerAction label="Replay" target={name} title={`Replay to ${name}`} action="Replay events" onConfirm={replay}>
        <p>Events of the last day are sent again, also those that were accepted.</p>
      </DangerAction>
      <DangerAction
        label="New secret"
        target={name}
        title={`Replace the secret of ${name}`}
        action="Replace secret"
        onConfirm={replace}
      >
        <p>The present secret signs for one more day. Change the receiver by then.</p>
      </DangerAction>
      <DangerAction label="Delete" target={name} action="Delete webhook" onConfirm={remove}>
        <p>Nothing more is sent to it.</p>
      </DangerAction>
      {test.error !== null && <Failed error={test.error} what="No test is sent." />}
    </Group>
  );
}

interface AddProps {
  readonly existing: readonly WebhookBody[];
  readonly onClose: () => void;
  readonly onAdded: (secret: Secret | null) => void;
}

function AddWebhook({ existing, onClose, onAdded }: AddProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const form = useApiForm({
    initial: { name: '', url: '', kinds: [] as TeamEventKind[] },
    draft: `${team}.webhook`,
    // The path of an address may be a secret of the receiver.
    secrets: ['url'],
    check: ({ name, url }) => ({
      name: newNameProblem(name.trim(), existing, 'Choose another name.'),
      url: url.trim() === '' ? 'Enter an address.' : null,
    }),
    send: async ({ name, url, kinds }) => {
      const spec = { url: url.trim(), kinds };
      return (await corral.putWebhook({ team, webhook: name.trim() }, { body: { spec } })).body;
    },
    onSaved: async (body) => {
      const { name } = body.metadata;
      announce(`${name} is added`);
      onAdded('secret' in body ? { name, text: body.secret } : null);
      await cache.invalidateQueries({ queryKey: webhooksQuery(team).queryKey });
    },
  });
  return (
    <ApiFormFrame
      form={form}
      label="Add a webhook"
      action="Add webhook"
      failure="The webhook is not added."
      onCancel={onClose}
    >
      <TextInput label="Name" autoFocus {...form.fields.getInputProps('name')} />
      <TextInput
        label="Address"
        description="An https URL that is reachable from the internet."
        type="url"
        {...form.fields.getInputProps('url')}
      />
      <Checkbox.Group label="Events about" description="None: all." {...form.fields.getInputProps('kinds')}>
        <Group gap="sm">
          {teamEventKinds.map((kind) => (
            <Checkbox key={kind} value={kind} label={kind} />
          ))}
        </Group>
      </Checkbox.Group>
    </ApiFormFrame>
  );
}
