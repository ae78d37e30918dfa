import '@mantine/spotlight/styles.layer.css';
import { cutText } from '@corral/contracts';
import { createSpotlight, Spotlight, type SpotlightActionData } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { clustersQuery, connectionsQuery, dnsTokensQuery, meQuery, rrsetsQuery } from '../api/queries.js';
import { pathOf, placesFor } from './navigation.js';
import { type TeamOperation, useTeam } from './use-team.js';

const [store, actions] = createSpotlight();
const SHOWN_MAX = 12;

const commands: readonly { readonly label: string; readonly path: string; readonly operation: TeamOperation }[] = [
  { label: 'Create cluster', path: '/clusters/+', operation: 'putCluster' },
  { label: 'Create DNS token', path: '/dns/tokens/+', operation: 'createDnsToken' },
  { label: 'Connect cloud project', path: '/connections/+', operation: 'createConnection' },
];

/** The command palette: jumps to pages, teams and things by name. Dangerous actions open their page and never run here. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const { slug: team, can } = useTeam();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  const go = (to: string) => () => void navigate({ to });
  useEffect(() => actions.open(), []);

  const me = useQuery(meQuery());
  const clusters = useQuery(clustersQuery(team));
  const connections = useQuery(connectionsQuery(team));
  const tokens = useQuery(dnsTokensQuery(team));
  const rrsets = useQuery(rrsetsQuery(team));

  const base = `/teams/${team}`;
  const entries: SpotlightActionData[] = [
    ...placesFor(can).map((place) => ({
      id: `page ${place.label}`,
      label: place.label,
      description: 'Page',
      onClick: go(pathOf(team, place)),
    })),
    ...commands
      .filter(({ operation }) => can(operation))
      .map(({ label, path }) => ({ id: label, label, description: 'Action', onClick: go(`${base}${path}`) })),
    {
      id: 'preferences',
      label: 'Sessions and preferences',
      description: 'Theme, density, shortcuts',
      onClick: go('/me'),
    },
    {
      id: 'reference',
      label: 'API reference',
      description: 'Documentation',
      onClick: () => window.location.assign('/docs/'),
    },
    ...(clusters.data ?? []).map(({ metadata: { name }, status }) => ({
      id: `cluster ${name}`,
      label: name,
      description: `Cluster, ${status.phase}`,
      onClick: go(`${base}/clusters/${name}`),
    })),
    ...(rrsets.data ?? []).map(({ name, type, records }) => ({
      id: `rrset ${name} ${type}`,
      label: `${name} ${type}`,
      description: cutText(`Record set, ${records.map(({ value }) => value).join(', ')}`, 120, '…'),
      onClick: go(`${base}/dns/records/${encodeURIComponent(name)}/${type}`),
    })),
    ...(tokens.data ?? []).map(({ id, name, state }) => ({
      id: `token ${id}`,
      label: name,
      description: `DNS token, ${state}`,
      onClick: go(`${base}/dns/tokens/${id}`),
    })),
    ...(connections.data ?? []).map(({ metadata: { ref, name }, status }) => ({
      id: `connection ${ref}`,
      label: name,
      description: `Connection, ${status.phase}`,
      onClick: go(`${base}/connections/${ref}`),
    })),
    ...(me.data?.teams ?? [])
      .filter(({ slug }) => slug !== team)
      .map(({ slug, name }) => ({
        id: `team ${slug}`,
        label: name,
        description: 'Team',
        onClick: go(`/teams/${slug}`),
      })),
  ];
  return (
    <Spotlight
      store={store}
      actions={entries}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={onClose}
      limit={SHOWN_MAX}
      nothingFound={`Nothing matches “${query}”.`}
      searchProps={{ placeholder: 'Search or run a command', 'aria-label': 'Search pages, things and actions' }}
      attributes={{ content: { 'aria-label': 'Search' } }}
      shortcut={null}
      highlightQuery
    />
  );
}
