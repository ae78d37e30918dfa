import type { ClusterSchemas } from '@corral/client';
import { roleNames } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { roleMeanings } from '../access/roles.js';
import { corral } from '../api/corral.js';
import { meQuery } from '../api/queries.js';
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
  return (
    <Section title={`Join ${name}`}>
      <p>
        {by} invites you to the team <strong>{name}</strong>
        {name !== slug && ` (${slug})`} as {roleNames[role]}. You {roleMeanings[role]}.
      </p>
      <div>
        {invitation.is_accepted ? (
          <Button variant="filled" onClick={() => void navigate({ to: `/teams/${slug}` })}>
            Open {name}
          </Button>
        ) : (
          <Button variant="filled" loading={accept.isPending} onClick={() => accept.mutate()}>
            Join {name}
          </Button>
        )}
      </div>
      <p className="muted">
        Valid until <Expiry at={until} />. If you do not want to join, do nothing.
      </p>
      {accept.error !== null && <Failed error={accept.error} />}
    </Section>
  );
}
