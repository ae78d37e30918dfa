import type { TeamBody } from '@corral/contracts';
import { TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { bodyOf, corral } from '../api/corral.js';
import { catalogueQuery, dnsUsageQuery, meQuery, teamQuery } from '../api/queries.js';
import { quotasOf } from '../home/attention.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { Copyable } from '../ui/copy.js';
import { Page, Section } from '../ui/page.js';
import { AllLoaded, Empty, Loaded } from '../ui/states.js';
import { Meter, Status } from '../ui/status.js';
import { Table } from '../ui/table.js';
import { Expiry } from '../ui/time.js';

/** The team itself: name, subscription, quotas. */
export function SettingsPage() {
  const { id } = useTeam();
  return <Page>{id !== null && <Settings id={id} />}</Page>;
}

function Settings({ id }: { readonly id: number }) {
  const team = useTeam();
  const details = useQuery(teamQuery(team.slug, id));
  return (
    <Loaded query={details} what="the team">
      {(body) => (
        <>
          <Section title="Team">
            <p>
              Its name in the zone is <Copyable text={team.slug} />. It cannot change, because it is part of all record
              sets.
            </p>
            {team.can('putTeam') ? (
              <NameForm body={body} />
            ) : (
              <p>
                Shown as <strong>{body.name}</strong>. Administrators can change that.
              </p>
            )}
          </Section>
          <Section title="Subscription">
            <Subscription body={body} />
          </Section>
          <Section title="Quotas">
            <Quotas />
          </Section>
        </>
      )}
    </Loaded>
  );
}

function NameForm({ body }: { readonly body: TeamBody }) {
  const team = useTeam();
  const cache = useQueryClient();
  const form = useApiForm({
    initial: { name: body.name },
    draft: `${team.slug}.team-name`,
    send: ({ name }) => bodyOf(corral.putTeam({ team_id: body.id }, { body: { name } })),
    after: ({ name }) => ({ name }),
    onSaved: async (saved) => {
      cache.setQueryData(teamQuery(team.slug, body.id).queryKey, saved);
      announce('Saved the name of the team');
      await cache.invalidateQueries({ queryKey: meQuery().queryKey });
    },
  });
  return (
    <>
      <ApiFormFrame form={form} action="Save name" isRow>
        <TextInput label="Name" required {...form.fields.getInputProps('name')} />
      </ApiFormFrame>
      {form.saved?.name === form.fields.values.name && <p role="status">Saved.</p>}
    </>
  );
}

function Subscription({ body }: { readonly body: TeamBody }) {
  const { subscription, has_active_subscription: isActive } = body;
  if (!('id' in subscription)) {
    return <Empty>{isActive ? 'An active subscription.' : 'No subscription.'}</Empty>;
  }
  const { display_name: name, status, billing_interval: interval, current_period_end: end, items } = subscription;
  return (
    <>
      <p>
        <strong>{name}</strong> <Status tone={isActive ? 'good' : 'warning'}>{status}</Status>
      </p>
      <p>
        Billed by {interval}. {subscription.cancel_at_period_end ? 'Ends' : 'Renews'} on <Expiry at={end} />.
      </p>
      {items.length > 0 && (
        <Table
          caption="Parts of the subscription"
          rows={items}
          rowKey={({ id }) => id}
          columns={{
            Product: ({ price }) => price.product_name,
            Quantity: { alignEnd: true, cell: ({ quantity }) => quantity },
            Price: { alignEnd: true, cell: ({ price }) => price.human_readable_price },
          }}
        />
      )}
    </>
  );
}

function Quotas() {
  const { slug: team } = useTeam();
  const usage = useQuery(dnsUsageQuery(team));
  const catalogue = useQuery(catalogueQuery(team));
  const limits = catalogue.data?.limits;
  const queries = [
    { query: usage, what: 'the usage of DNS' },
    { query: catalogue, what: 'the limits of clusters' },
  ];
  return (
    <AllLoaded queries={queries}>
      <Table
        caption="Quotas of the team"
        rows={quotasOf({ usage: usage.data, limits })}
        rowKey={({ subject }) => subject}
        columns={{
          Quota: ({ subject }) => subject,
          Used: { alignEnd: true, cell: ({ used, limit }) => `${used} of ${limit}` },
          Share: ({ subject, used, limit }) => (
            <Meter percent={limit === 0 ? 0 : Math.round((used / limit) * 100)} label={`${subject} used`} isQuota />
          ),
        }}
      />
      <p className="muted">
        A cluster has at most {limits?.nodePoolsPerCluster} node pools and {limits?.nodesPerCluster} nodes. Operators
        can raise quotas.
      </p>
    </AllLoaded>
  );
}
