import { isCorralError } from '@corral/client';
import { Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { Empty, Failed } from '../ui/states.js';

const home = (
  <LinkButton to="/" variant="default">
    Go to your team
  </LinkButton>
);

/** In place of a page whose address leads nowhere. */
export const NoSuchPage = () => (
  <Page title="There is no such page">
    <Empty action={home}>Check the address, or find the page with the navigation or the search.</Empty>
  </Page>
);

/** In place of a page that failed, also when its code is gone since another release runs. */
export function BrokenPage({ error, reset }: ErrorComponentProps) {
  if (isCorralError(error)) {
    return (
      <Page title="The page could not be shown">
        <Failed error={error} onRetry={reset} />
      </Page>
    );
  }
  return (
    <Page title="The page could not be shown">
      <Empty action={<Button onClick={() => window.location.reload()}>Reload the page</Button>}>
        <div role="alert">
          The page has an error, or Corral was updated since you opened it. Reload it; if it comes back, report it.
        </div>
      </Empty>
    </Page>
  );
}
