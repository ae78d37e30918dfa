import type { ClusterSchemas } from '@corral/client';
import { roleNames } from '@corral/contracts';
import { Button, Group } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { roleMeanings } from '../access/roles.js';
import { corral } from '../api/corral.js';
import { meQuery, receivedInvitationsQuery } from '../api/queries.js';
import { announce } from '../ui/announcer.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { Expiry } from '../ui/time.js';

/** Into which team somebody is invited, by whom, and what they may do there. */
export function InvitationCard({ invitation }: { readonly invitation: ClusterSchemas['ReceivedInvitation'] }) {
  const { id, team_name: name, team_slug: slug, role, invited_by: by, expires_at: until } = invitation;
  const cache = useQueryClient();
  const navigate = useNavigate();
  const accept = useMutation({
    mutationFn: () => corral.acceptInvitation({ id }),
    onSuccess: async ({ body }) => {
      await cache.invalidateQueries({ queryKey: meQuery().queryKey });
      await navigate({ to: `/teams/${body.team_slug}` });
    },
  });
  const decline = useMutation({
    mutationFn: () => corral.declineInvitation({ id }),
    onSuccess: async () => {
      announce(`Declined the invitation to ${name}`);
      await cache.invalidateQueries({ queryKey: receivedInvitationsQuery().queryKey });
      await navigate({ to: '/' });
    },
  });
  const isBusy = accept.isPending || decline.isPending;
  return (
    <Section title={`Join ${name}`}>
      <p>
        {by} invites you to the team <strong>{name}</strong>
        {name !== slug && ` (${slug})`} as {roleNames[role]}. You {roleMeanings[role]}.
      </p>
      <Group>
        {invitation.is_accepted ? (
          <Button variant="filled" onClick={() => void navigate({ to: `/teams/${slug}` })}>
            Open {name}
          </Button>
        ) : (
          <>
            <Button variant="filled" loading={isBusy} onClick={() => accept.mutate()}>
              Join {name}
            </Button>
            <Button loading={isBusy} onClick={() => decline.mutate()}>
              Decline
            </Button>
          </>
        )}
      </Group>
      <p className="muted">
        Valid until <Expiry at={until} />.
      </p>
      {accept.error !== null && <Failed error={accept.error} />}
      {decline.error !== null && <Failed error={decline.error} />}
    </Section>
  );
}
