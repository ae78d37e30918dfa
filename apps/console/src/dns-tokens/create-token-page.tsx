import { isCorralError } from '@corral/client';
import { type DnsTokenBody, writableTypes } from '@corral/contracts';
import { Button, Checkbox, Group, NativeSelect, Radio, Stack, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { bodyOf, corral } from '../api/corral.js';
import { dnsUsageQuery, dnsZoneQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { type ApiForm, ApiFormFrame, FormRow, useApiForm } from '../ui/api-form.js';
import { Columns, Panel } from '../ui/columns.js';
import { Page, Section } from '../ui/page.js';
import { ShownOnce } from '../ui/shown-once.js';
import { Empty, Loaded } from '../ui/states.js';
import { Expiry } from '../ui/time.js';
import { ClientConfigTabs } from './client-config-tabs.js';
import { CoverageCheck } from './coverage-check.js';
import {
  coverageOf,
  coverageText,
  emptyDraft,
  type Lifetime,
  problemsOf,
  purposes,
  type TokenDraft,
  tokenWish,
} from './token-draft.js';
import '../ui/radio.css';

export function CreateTokenPage() {
  const { slug: team } = useTeam();
  const place = useQuery(dnsZoneQuery(team));
  if (place.data !== undefined) return <CreateToken place={place.data} />;
  return (
    <Page>
      {isCorralError(place.error) && place.error.status === 404 ? (
        <Empty>This installation does not say where its DNS API is. Its operators have to set DNS_API_URL.</Empty>
      ) : (
        <Loaded query={place} what="the zone">
          {() => null}
        </Loaded>
      )}
    </Page>
  );
}

interface Place {
  readonly endpoint: string;
  readonly zone: string;
}

function CreateToken({ place }: { readonly place: Place }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const usage = useQuery(dnsUsageQuery(team));
  const placed = { team, zone: place.zone };
  const form = useApiForm({
    initial: emptyDraft,
    draft: `dns-token.${team}`,
    aliases: { withinTypes: 'types', expiresAt: 'lifetime' },
    check: (draft) => problemsOf(draft, { ...placed, now: Date.now() }),
    send: (draft, idempotencyKey) => {
      const body = tokenWish(draft, { ...placed, now: Date.now() });
      return bodyOf(corral.createDnsToken({ team }, { body, idempotencyKey }));
    },
    onSaved: () => {
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'dns-tokens'] });
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'dns-usage'] });
    },
  });
  if (form.saved !== undefined) return <CreatedToken place={place} created={form.saved} />;

  const coverage = coverageOf(form.fields.values, placed);
  const tokens = usage.data?.tokens;
  return (
    <Page>
      <p className="muted">
        A token lets a tool write records of {team}. Give it only what it needs; for your own work here you need none.
      </p>
      {tokens !== undefined && tokens.active >= tokens.limit && (
        <Empty
          action={
            <Link to="/teams/$team/dns/tokens" params={{ team }}>
              Choose one to revoke
            </Link>
          }
        >
          {tokens.active} of {tokens.limit} active tokens are in use. Revoke one before you create another.
        </Empty>
      )}
      <Columns
        aside={
          <Panel>
            <div aria-live="polite">
              <h2>This token would cover</h2>
              <p>{coverageText(coverage)}</p>
            </div>
            <CoverageCheck coverage={coverage} zone={place.zone} />
          </Panel>
        }
      >
        <TokenForm zone={place.zone} form={form} />
      </Columns>
    </Page>
  );
}

interface CreatedTokenProps {
  readonly place: { readonly endpoint: string; readonly zone: string };
  /** `token` is null when the answer with it was lost. */
  readonly created: DnsTokenBody & { readonly token: string | null };
}

/** A new token with the configuration of the tools that it is for. */
function CreatedToken({ place, created }: CreatedTokenProps) {
  const { slug: team } = useTeam();
  const navigate = useNavigate();
  const { id, name, token, expiresAt, withinName, withinTypes } = created;
  const coverage = { ownerLabel: team, withinName, withinTypes };
  const openToken = () => void navigate({ to: '/teams/$team/dns/tokens/$id', params: { team, id } });
  if (token === null) {
    return (
      <Page title={`Token ${name}`}>
        <Empty action={<Button onClick={openToken}>Open the token</Button>}>
          The token was created, but its answer was lost on the way. This token cannot be shown again. Revoke it and
          create another.
        </Empty>
      </Page>
    );
  }
  return (
    <Page title={`Token ${name} created`}>
      <p>
        Covers {coverageText(coverage)}. Ends: <Expiry at={expiresAt} />.
      </p>
      <Section title="Token">
        <ShownOnce
          secret={token}
          what="the token"
          remedy="If it is lost, revoke it and create another."
          onStored={openToken}
        />
      </Section>
      <Columns aside={<CoverageCheck coverage={coverage} zone={place.zone} />}>
        <Section title="Ready configuration">
          <ClientConfigTabs use={{ ...place, coverage, token }} />
        </Section>
      </Columns>
    </Page>
  );
}

const lifetimes: readonly { readonly value: Lifetime; readonly label: string }[] = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
  { value: 'date', label: 'until a day' },
  { value: 'never', label: 'until it is revoked' },
];

/** Narrows a token step by step: what for, which names, which types, how long. */
function TokenForm({ zone, form }: { readonly zone: string; readonly form: ApiForm<TokenDraft> }) {
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
