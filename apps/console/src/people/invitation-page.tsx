import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { receivedInvitationQuery } from '../api/queries.js';
import { PlainFrame } from '../shell/plain-frame.js';
import { Page } from '../ui/page.js';
import { Loaded } from '../ui/states.js';
import { InvitationCard } from './invitation-card.js';

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
