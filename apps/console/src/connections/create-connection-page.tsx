import { clusterLimits } from '@corral/contracts';
import { TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { bodyOf, corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { ApiFormFrame, useApiForm } from '../ui/api-form.js';
import { Page } from '../ui/page.js';
import { checkToken } from './check-token.js';
import { TokenField } from './token-field.js';

/** Connects a cloud project with its token. */
export function CreateConnectionPage() {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const form = useApiForm({
    initial: { ref: '', name: '', token: '' },
    draft: `connection.${team}`,
    secrets: ['token'],
    check: ({ token }) => ({ token: token.trim() === '' ? 'Paste the token of the project.' : null }),
    aliases: { '': 'ref' },
    meaning: ({ status }, { ref }): { ref?: string } =>
      status === 412 ? { ref: `${ref} exists. Choose another ID, or replace the token there.` } : {},
    send: async ({ ref: typedRef, name: typedName, token }, idempotencyKey) => {
      const [ref, name] = [typedRef.trim(), typedName.trim()];
      const body = { spec: { provider: 'hcloud' as const, token: token.trim(), ...(name === '' ? {} : { name }) } };
      if (ref === '') {
        await checkToken(corral.createConnection({ team }, { body, query: { dryRun: true }, idempotencyKey }));
        return bodyOf(corral.createConnection({ team }, { body, idempotencyKey }));
      }
      await checkToken(corral.putConnection({ team, ref }, { body, query: { dryRun: true }, ifNoneMatch: '*' }));
      return bodyOf(corral.putConnection({ team, ref }, { body, ifNoneMatch: '*' }));
    },
    onSaved: async ({ metadata: { ref } }) => {
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'connections'] });
      await navigate({ to: '/teams/$team/connections/$ref', params: { team, ref } });
    },
  });
  const { fields } = form;
  return (
    <Page>
      <ApiFormFrame form={form} action="Connect project" failure="The project was not connected.">
        <TextInput
          label="ID"
          description="Used in the specifications of clusters, and cannot change. Leave it empty to generate one."
          maxLength={clusterLimits.refCharacters}
          placeholder="main"
          classNames={{ input: 'mono' }}
          autoComplete="off"
          spellCheck={false}
          {...fields.getInputProps('ref')}
        />
        <TextInput
          label="Name (optional)"
          maxLength={clusterLimits.connectionNameCharacters}
          autoComplete="off"
          {...fields.getInputProps('name')}
        />
        <TokenField label="API token of the project" {...fields.getInputProps('token')} />
      </ApiFormFrame>
    </Page>
  );
}
