import { useTeam } from '../shell/use-team.js';
import { Page } from '../ui/page.js';
import { Issuers } from './issuers.js';
import { KubeconfigsOut } from './kubeconfigs-out.js';
import { People } from './people.js';
import { Robots } from './robots.js';
import { RolesMatrix } from './roles.js';

/** The page shows who gets into the team: people, programs, and kubeconfigs that are still valid. */
export function AccessPage() {
  const { can } = useTeam();
  return (
    <Page>
      <People />
      {can('listServiceAccounts') && <Robots />}
      {can('listTrustedIssuers') && <Issuers />}
      <KubeconfigsOut />
      <RolesMatrix />
    </Page>
  );
}
