import type { ClusterSchemas } from '@corral/client';
import { roleNames } from '@corral/contracts';
import { Button, Group } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { roleMeanings } from '../access/roles.js';
import { corral } from '../api/corral.js';
import { meQuery, receivedInvitationQuery, receivedInvitationsQuery } from '../api/queries.js';
import { PlainFrame } from '../shell/plain-frame.js';
import { announce } from '../ui/announcer.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { Expiry } from '../ui/time.js';
import { useFocusKept } from '../ui/use-focus-kept.js';

/** Into which team somebody is invited, by whom, and what they may do there. */
function InvitationCard({ invitation }: { readonly invitation: ClusterSchemas['ReceivedInvitation'] }) {
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

/** The page to which the link in an invitation mail leads. */
export function InvitationPage() {
  const { id } = useParams({ from: '/signed-in/invitations/$id' });
  const invitation = useQuery(receivedInvitationQuery(id));
  return (
    <PlainFrame>
      <Page>
        <Loaded query={invitation} what="the invitation">
          {(found) => <InvitationCard invitation={found} />}
        </Loaded>
        {invitation.error !== null && (
          <p className="muted">
            An invitation is only shown to the owner of its address. If it was sent to another address of yours, sign
            out and sign in with that one.
          </p>
        )}
      </Page>
    </PlainFrame>
  );
}

/** The start of a person who belongs to no team: the invitations to their address. */
export function NoTeamPage() {
  const me = useQuery(meQuery());
  const invitations = useQuery(receivedInvitationsQuery());
  useFocusKept('h1', invitations.data?.length);
  return (
    <PlainFrame>
      <Page title="You are not in any team">
        <Loaded query={invitations} what="your invitations">
          {(all) => {
            const open = all.filter(({ is_accepted: isAccepted }) => !isAccepted);
            if (open.length > 0) return open.map((each) => <InvitationCard key={each.id} invitation={each} />);
            return (
              <Empty>
                Ask an administrator of a team to invite <strong>{me.data?.email}</strong>. The invitation is then shown
                here.
              </Empty>
            );
          }}
        </Loaded>
      </Page>
    </PlainFrame>
  );
}
