import type { ServiceAccountBody, TrustedIssuerBody } from '@corral/contracts';
import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { accountsQuery, issuersQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { Snippet } from '../ui/copy.js';
import { DangerAction } from '../ui/danger.js';
import { Section } from '../ui/page.js';
import { Empty } from '../ui/states.js';
import { LoadedTable } from '../ui/table.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { type IssuerDraft, issuerPresets, issuerSpecOf, snippetOf } from './issuer-presets.js';

/** Issuers whose tokens become robots of the team, without a stored secret. */
export function Issuers() {
  const { slug: team } = useTeam();
  const issuers = useQuery(issuersQuery(team));
  const accounts = useQuery(accountsQuery(team));
  const [isAdding, setAdding] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  useFocusKept('[data-opens="issuer"]', isAdding);
  const how = issuers.data?.find(({ metadata }) => metadata.name === shown);
  return (
    <Section
      title="Trusted issuers"
      actions={
        !isAdding && (
          <Button data-opens="issuer" onClick={() => setAdding(true)}>
            Trust an issuer
          </Button>
        )
      }
    >
      <p className="muted">
        A pipeline with a token of a trusted issuer becomes a robot for 15 minutes. It needs no stored secret.
      </p>
      {isAdding && accounts.data?.length === 0 && <Empty>Create a robot first: a match becomes one.</Empty>}
      {isAdding && accounts.data !== undefined && accounts.data.length > 0 && (
        <TrustIssuer
          accounts={accounts.data}
          existing={issuers.data ?? []}
          onClose={() => setAdding(false)}
          onAdded={setShown}
        />
      )}
      <LoadedTable
        query={issuers}
        what="the trusted issuers"
        empty="No issuer is trusted."
        caption="Trusted issuers"
        rowKey={({ metadata }) => metadata.id}
        columns={{
          Name: ({ metadata }) => <span className="mono">{metadata.name}</span>,
          Issuer: { isLong: true, cell: ({ spec }) => spec.issuer },
          Conditions: { isLong: true, cell: ({ spec }) => <Claims claims={spec.claims} /> },
          Robot: ({ spec }) => <span className="mono">{spec.serviceAccount}</span>,
          Actions: {
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
                <RemoveIssuer issuer={issuer} />
              </>
            ),
          },
        }}
      />
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

function RemoveIssuer({ issuer }: { readonly issuer: TrustedIssuerBody }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const { name } = issuer.metadata;
  const remove = async () => {
    await corral.deleteTrustedIssuer({ team, issuer: name });
    announce(`${name} is not trusted any more`);
    await cache.invalidateQueries({ queryKey: issuersQuery(team).queryKey });
  };
  return (
    <DangerAction label="Remove" target={name} action="Remove issuer" onConfirm={remove}>
      <p>
        Its pipelines get no token for {issuer.spec.serviceAccount} any more. The tokens that they have end at once.
      </p>
    </DangerAction>
  );
}

interface TrustIssuerProps {
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

const firstPreset = issuerPresets[0] as (typeof issuerPresets)[number];

function TrustIssuer({ accounts, existing, onClose, onAdded }: TrustIssuerProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const [initial] = useState<IssuerDraft>(() => ({
    ...draftFor(firstPreset),
    audience: window.location.origin,
    conditions: '',
    serviceAccount: accounts[0]?.metadata.name ?? '',
  }));
  const form = useApiForm({
    initial,
    draft: `${team}.issuer`,
    aliases: { claims: 'subject', sub: 'subject' },
    check: (draft) => ({
      ...missingIn(draft),
      // A declaration of an existing issuer would change it.
      ...(existing.some(({ metadata }) => metadata.name === draft.name.trim())
        ? { name: `${draft.name} exists. Remove it first, or choose another name.` }
        : {}),
      conditions: issuerSpecOf(draft) === null ? 'Write each line as claim=value.' : null,
    }),
    send: (draft) => {
      const spec = issuerSpecOf(draft) as NonNullable<ReturnType<typeof issuerSpecOf>>;
      return bodyOf(corral.putTrustedIssuer({ team, issuer: draft.name.trim() }, { body: { spec } }));
    },
    onSaved: async ({ metadata: { name } }) => {
      announce(`${name} is trusted`);
      await cache.invalidateQueries({ queryKey: issuersQuery(team).queryKey });
      onClose();
      onAdded(name);
    },
  });
  const { fields } = form;
  return (
    <ApiFormFrame
      form={form}
      label="Trust an issuer"
      action="Trust issuer"
      failure="The issuer is not trusted."
      onCancel={onClose}
    >
      <NativeSelect
        label="Kind"
        autoFocus
        data={issuerPresets.map(({ id, label }) => ({ value: id, label }))}
        value={fields.values.preset}
        onChange={(event) => {
          const preset = issuerPresets.find(({ id }) => id === event.currentTarget.value);
          if (preset !== undefined) fields.setValues(draftFor(preset));
        }}
      />
      <TextInput label="Name" {...fields.getInputProps('name')} />
      <TextInput
        label="Issuer"
        description="Exactly as in the claim iss."
        type="url"
        {...fields.getInputProps('issuer')}
      />
      <TextInput
        label="Subject"
        description="What the claim sub must be. A * stands for any characters but / and :, at the end for all."
        {...fields.getInputProps('subject')}
      />
      <Textarea
        label="Further conditions"
        description="One claim=value a line, for example ref=refs/heads/main."
        autosize
        minRows={2}
        spellCheck={false}
        {...fields.getInputProps('conditions')}
      />
      <TextInput
        label="Audience"
        description="What the claim aud must contain. Use it for Corral only."
        {...fields.getInputProps('audience')}
      />
      <NativeSelect
        label="Robot"
        description="What a match becomes."
        data={accounts.map(({ metadata }) => metadata.name)}
        {...fields.getInputProps('serviceAccount')}
      />
    </ApiFormFrame>
  );
}

const neededFields = ['name', 'issuer', 'subject', 'audience'] as const;
const missingIn = (draft: IssuerDraft) =>
  Object.fromEntries(neededFields.flatMap((field) => (draft[field].trim() === '' ? [[field, 'Fill this in.']] : [])));
