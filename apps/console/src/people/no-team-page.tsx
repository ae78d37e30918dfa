import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { meQuery } from '../api/queries.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';

/** The start of a person who belongs to no team. */
export function NoTeamPage() {
  const me = useQuery(meQuery());
  return (
    <main>
      <Page title="You are not in any team">
        <Loaded query={me} what="your teams">
          {({ email }) => (
            <Empty>
              Ask an administrator of a team to invite <strong>{email}</strong>, then open the link in the mail. You can
              see your <Link to="/me">sessions and preferences</Link> meanwhile.
            </Empty>
          )}
        </Loaded>
      </Page>
    </main>
  );
}
