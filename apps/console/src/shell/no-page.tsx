import type { ErrorComponentProps } from '@tanstack/react-router';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { Empty, Failed } from '../ui/states.js';

const home = (
  <LinkButton to="/" variant="default">
    Go to your team
  </LinkButton>
);

/** The page at an address that leads nowhere. */
export const NoSuchPage = () => (
  <Page title="There is no such page">
    <Empty action={home}>Check the address, or find the page with the navigation or the search.</Empty>
  </Page>
);

/** The page in place of one that failed, also when its code is gone since another release runs. */
export const BrokenPage = ({ error }: ErrorComponentProps) => (
  <Page title="The page could not be shown">
    <Failed error={error} onRetry={() => window.location.reload()} />
  </Page>
);
