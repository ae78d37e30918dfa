import { isCorralError, newIdempotencyKey } from '@corral/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import { dnsUsageQuery, dnsZoneQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Columns, Panel } from '../ui/columns.js';
import { Page } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import { CoverageCheck } from './coverage-check.js';
import { CreatedToken } from './created-token.js';
import {
  coverageOf,
  coverageText,
  emptyDraft,
  problemsOf,
  type TokenDraft,
  type TokenField,
  tokenWish,
} from './token-draft.js';
import { TokenForm } from './token-form.js';

export function CreateTokenPage() {
  const { slug: team } = useTeam();
  const place = useQuery(dnsZoneQuery(team));
  if (place.data !== undefined) return <CreateToken team={team} place={place.data} />;
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

function CreateToken({ team, place }: { readonly team: string; readonly place: Place }) {
  const cache = useQueryClient();
  const usage = useQuery(dnsUsageQuery(team));
  const [draft, setDraft, clearDraft] = useDraft<TokenDraft>(`dns-token.${team}`, emptyDraft);
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const [isChecked, setChecked] = useState(false);
  const create = useMutation({
    // The token does not stay in memory longer than this page.
    gcTime: 0,
    mutationFn: async () => {
      const body = tokenWish(draft, { team, zone: place.zone, now: Date.now() });
      const answer = await corral.createDnsToken({ team }, { body, idempotencyKey });
      return answer.body;
    },
    onSuccess: () => {
      clearDraft();
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'dns-tokens'] });
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'dns-usage'] });
    },
    onError: (error) => {
      // A refused request may be sent again with other contents; one without an answer is the same request again.
      if (isCorralError(error) && !error.isUnknownOutcome) setIdempotencyKey(newIdempotencyKey());
    },
  });
  if (create.data !== undefined) return <CreatedToken team={team} place={place} created={create.data} />;

  const problems = {
    ...(isChecked ? problemsOf(draft, { team, zone: place.zone, now: Date.now() }) : {}),
    ...refusedFields(create.error),
  };
  const coverage = coverageOf(draft, { team, zone: place.zone });
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
              <h3>This token would cover</h3>
              <p>{coverageText(coverage)}</p>
            </div>
            <CoverageCheck coverage={coverage} zone={place.zone} />
          </Panel>
        }
      >
        <TokenForm
          team={team}
          zone={place.zone}
          draft={draft}
          onChange={setDraft}
          problems={problems}
          isPending={create.isPending}
          onSubmit={() => {
            setChecked(true);
            const found = problemsOf(draft, { team, zone: place.zone, now: Date.now() });
            if (Object.keys(found).length === 0) create.mutate();
          }}
        />
        {create.error !== null && <Failed error={create.error} what="The token was not created." />}
      </Columns>
    </Page>
  );
}

/** What the API says about fields of the form. */
function refusedFields(error: unknown): Partial<Record<TokenField, string>> {
  if (!isCorralError(error)) return {};
  return Object.fromEntries(error.errors.map(({ pointer, message }) => [pointer.slice(1), `It ${message}.`]));
}
