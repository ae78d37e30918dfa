import type { ServiceAccountBody, TrustedIssuerBody } from '@corral/contracts';
import { Button, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { accountsQuery, issuersQuery } from '../api/queries.js';
import { fieldMessages } from '../connections/field-messages.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Snippet } from '../ui/copy.js';
import { DangerAction } from '../ui/danger-action.js';
import { Section } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { Table } from '../ui/table.js';
import { useDraft } from '../ui/use-draft.js';
import { type IssuerDraft, issuerPresets, issuerSpecOf, snippetOf } from './issuer-presets.js';

/** Issuers whose tokens become robots of the team, without a stored secret. */
export function Issuers() {
  const { slug: team } = useTeam();
  const issuers = useQuery(issuersQuery(team));
  const accounts = useQuery(accountsQuery(team));
  const [isAdding, setAdding] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  const how = issuers.data?.find(({ metadata }) => metadata.name === shown);
  return (
    <Section
      title="Trusted issuers"
      actions={!isAdding && <Button onClick={() => setAdding(true)}>Trust an issuer</Button>}
    >
      <p className="muted">
        A pipeline with a token of a trusted issuer becomes a robot for 15 minutes. It needs no stored secret.
      </p>
      {isAdding && accounts.data?.length === 0 && <Empty>Create a robot first: a match becomes one.</Empty>}
      {isAdding && accounts.data !== undefined && accounts.data.length > 0 && (
        <TrustIssuer
          team={team}
          accounts={accounts.data}
          existing={issuers.data ?? []}
          onClose={() => setAdding(false)}
          onAdded={setShown}
        />
      )}
      <Loaded query={issuers} what="the trusted issuers">
        {(all) =>
          all.length === 0 ? (
            <Empty>No issuer is trusted.</Empty>
          ) : (
            <Table
              caption="Trusted issuers"
              rows={all}
              rowKey={({ metadata }) => metadata.id}
              columns={[
                { id: 'name', label: 'Name', cell: ({ metadata }) => <span className="mono">{metadata.name}</span> },
                { id: 'issuer', label: 'Issuer', isLong: true, cell: ({ spec }) => spec.issuer },
                {
                  id: 'claims',
                  label: 'Conditions',
                  isLong: true,
                  cell: ({ spec }) => <Claims claims={spec.claims} />,
                },
                {
                  id: 'robot',
                  label: 'Robot',
                  cell: ({ spec }) => <span className="mono">{spec.serviceAccount}</span>,
                },
                {
                  id: 'actions',
                  label: '',
                  alignEnd: true,
                  cell: (issuer) => (
                    <>
                      <Button
                        variant="subtle"
                        aria-expanded={shown === issuer.metadata.name}
                        onClick={() => setShown(shown === issuer.metadata.name ? null : issuer.metadata.name)}
                      >
                        Snippet<span className="visually-hidden"> for {issuer.metadata.name}</span>
                      </Button>
                      <RemoveIssuer team={team} issuer={issuer} />
                    </>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {how !== undefined && (
        <Snippet
          label={`the configuration for ${how.metadata.name}`}
          text={snippetOf(
            { ...how.spec, claims: how.spec.claims as Record<string, string> },
            { team, url: window.location.origin },
          )}
        />
      )}
    </Section>
  );
}

const Claims = ({ claims }: { readonly claims: TrustedIssuerBody['spec']['claims'] }) =>
  Object.entries(claims).map(([claim, value]) => (
    <div key={claim} className="mono">
      {claim}={value}
    </div>
  ));

function RemoveIssuer({
  team,
  issuer: { metadata, spec },
}: {
  readonly team: string;
  readonly issuer: TrustedIssuerBody;
}) {
  const cache = useQueryClient();
  const { name } = metadata;
  const remove = async () => {
    await corral.deleteTrustedIssuer({ team, issuer: name });
    announce(`${name} is not trusted any more`);
    await cache.invalidateQueries({ queryKey: issuersQuery(team).queryKey });
  };
  return (
    <DangerAction
      label="Remove"
      target={name}
      title={`Remove ${name}`}
      confirmation={name}
      action="Remove issuer"
      onConfirm={remove}
    >
      <p>Its pipelines get no token for {spec.serviceAccount} any more. The tokens that they have end at once.</p>
    </DangerAction>
  );
}

interface TrustIssuerProps {
  readonly team: string;
  readonly accounts: readonly ServiceAccountBody[];
  readonly existing: readonly TrustedIssuerBody[];
  readonly onClose: () => void;
  /** @param name of the issuer */
  readonly onAdded: (name: string) => void;
}

const draftFor = (preset: (typeof issuerPresets)[number]) => ({
  preset: preset.id,
  name: preset.id === 'other' ? '' : preset.id,
  issuer: preset.issuer,
  subject: preset.subject,
});

function TrustIssuer({ team, accounts, existing, onClose, onAdded }: TrustIssuerProps) {
  const cache = useQueryClient();
  const [first] = useState<IssuerDraft>(() => ({
    ...draftFor(issuerPresets[0] as (typeof issuerPresets)[number]),
    audience: window.location.origin,
    conditions: '',
    serviceAccount: accounts[0]?.metadata.name ?? '',
  }));
  const [draft, setDraft, clear] = useDraft<IssuerDraft>(`${team}.issuer`, first);
  const change = (changed: Partial<IssuerDraft>) => setDraft({ ...draft, ...changed });
  const spec = issuerSpecOf(draft);
  const name = draft.name.trim();
  // A declaration of an existing issuer would change it.
  const isTaken = existing.some(({ metadata }) => metadata.name === name);
  const add = useMutation({
    mutationFn: (wanted: NonNullable<typeof spec>) =>
      corral.putTrustedIssuer({ team, issuer: name }, { body: { spec: wanted } }),
    onSuccess: async () => {
      announce(`${name} is trusted`);
      await cache.invalidateQueries({ queryKey: issuersQuery(team).queryKey });
      clear();
      onClose();
      onAdded(name);
    },
  });
  const errors = fieldMessages(add.error);
  return (
    <form
      aria-label="Trust an issuer"
      onSubmit={(event) => {
        event.preventDefault();
        if (spec !== null && !isTaken) add.mutate(spec);
      }}
    >
      <Stack gap="sm" align="stretch" maw="36rem">
        <NativeSelect
          label="Kind"
          autoFocus
          value={draft.preset}
          data={issuerPresets.map(({ id, label }) => ({ value: id, label }))}
          onChange={(event) => {
            const preset = issuerPresets.find(({ id }) => id === event.currentTarget.value);
            if (preset !== undefined) change(draftFor(preset));
          }}
        />
        <TextInput
          label="Name"
          required
          value={draft.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={isTaken && `${name} exists. Remove it first, or choose another name.`}
        />
        <TextInput
          label="Issuer"
          description="Exactly as in the claim iss."
          type="url"
          required
          value={draft.issuer}
          onChange={(event) => change({ issuer: event.currentTarget.value })}
          error={errors['/spec/issuer']}
        />
        <TextInput
          label="Subject"
          description="What the claim sub must be. A * stands for any characters but / and :, at the end for all."
          required
          value={draft.subject}
          onChange={(event) => change({ subject: event.currentTarget.value })}
          error={errors['/spec/claims/sub'] ?? errors['/spec/claims']}
        />
        <Textarea
          label="Further conditions"
          description="One claim=value a line, for example ref=refs/heads/main."
          value={draft.conditions}
          onChange={(event) => change({ conditions: event.currentTarget.value })}
          error={spec === null && 'Write each line as claim=value.'}
          autosize
          minRows={2}
          spellCheck={false}
        />
        <TextInput
          label="Audience"
          description="What the claim aud must contain. Use it for Corral only."
          required
          value={draft.audience}
          onChange={(event) => change({ audience: event.currentTarget.value })}
          error={errors['/spec/audience']}
        />
        <NativeSelect
          label="Robot"
          description="What a match becomes."
          value={draft.serviceAccount}
          data={accounts.map(({ metadata }) => metadata.name)}
          onChange={(event) => change({ serviceAccount: event.currentTarget.value })}
          error={errors['/spec/serviceAccount']}
        />
        {add.error !== null && <Failed error={add.error} what="The issuer is not trusted." />}
        <Group>
          <Button type="submit" variant="filled" loading={add.isPending}>
            Trust issuer
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </Group>
      </Stack>
    </form>
  );
}
