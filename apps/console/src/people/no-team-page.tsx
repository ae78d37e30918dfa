import { useQuery } from '@tanstack/react-query';
import { meQuery, receivedInvitationsQuery } from '../api/queries.js';
import { PlainFrame } from '../shell/plain-frame.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { InvitationCard } from './invitation-card.js';

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
