import type { ClusterSchemas } from '@corral/client';
import { Link } from '@tanstack/react-router';
import { Page } from '../ui/page.js';
import { Empty } from '../ui/states.js';
import { PlainFrame } from './plain-frame.js';

interface NotYourTeamProps {
  readonly team: string;
  readonly me: Pick<ClusterSchemas['Me'], 'email' | 'teams'>;
}

/** The page in place of those of a team that the person does not belong to, whether there is such a team or not. */
export const NotYourTeam = ({ team, me }: NotYourTeamProps) => (
  <PlainFrame>
    <Page title={`You are not in the team ${team}`} hasCrumbs={false}>
      <Empty>
        <p>
          There is no such team, or you do not belong to it. Ask an administrator of the team to invite{' '}
          <strong>{me.email}</strong>.
        </p>
        {me.teams.length > 0 && (
          <>
            <p>Your teams:</p>
            <ul>
              {me.teams.map(({ slug, name }) => (
                <li key={slug}>
                  <Link to="/teams/$team" params={{ team: slug }}>
                    {name === slug ? slug : `${name} (${slug})`}
                  </Link>
                </li>
              ))}
            </ul>
          </>
        )}
      </Empty>
    </Page>
  </PlainFrame>
);
