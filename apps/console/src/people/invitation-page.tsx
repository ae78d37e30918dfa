import { roleNames } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { corral } from '../api/corral.js';
import { meQuery, receivedInvitationQuery } from '../api/queries.js';
import { Page } from '../ui/page.js';
import { Failed, Loaded } from '../ui/states.js';
import { Expiry } from '../ui/time.js';

/** The page to which the link in an invitation mail leads. */
export function InvitationPage() {
  const { id } = useParams({ from: '/signed-in/invitations/$id' });
  const cache = useQueryClient();
  const navigate = useNavigate();
  const invitation = useQuery(receivedInvitationQuery(id));
  const me = useQuery(meQuery());
  const accept = useMutation({
    mutationFn: () => corral.acceptInvitation({ id }),
    onSuccess: async ({ body }) => {
      await cache.invalidateQueries({ queryKey: meQuery().queryKey });
      await navigate({ to: `/teams/${body.team_slug}` });
    },
  });
  return (
    <main>
      <Page title="Invitation">
        <Loaded query={invitation} what="the invitation">
          {({ team_name: name, team_slug: slug, role, invited_by: by, expires_at: until, is_accepted: isAccepted }) => (
            <>
              <p>
                {by} invites you to the team <strong>{name}</strong> ({slug}) as {roleNames[role]}. Valid until{' '}
                <Expiry at={until} />.
              </p>
              <div>
                {isAccepted ? (
                  <Button variant="filled" onClick={() => void navigate({ to: `/teams/${slug}` })}>
                    Open {name}
                  </Button>
                ) : (
                  <Button variant="filled" loading={accept.isPending} onClick={() => accept.mutate()}>
                    Accept
                  </Button>
                )}
              </div>
            </>
          )}
        </Loaded>
        {accept.error !== null && <Failed error={accept.error} />}
        {invitation.error !== null && me.data !== undefined && (
          <p className="muted">
            You are signed in as {me.data.email}. An invitation to another address is only shown to its owner.
          </p>
        )}
      </Page>
    </main>
  );
}
