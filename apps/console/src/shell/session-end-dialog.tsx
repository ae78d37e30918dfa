import { Modal, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import { useSessionEnded } from './session-end.js';
import { SignInForm } from './sign-in-form.js';

/** Opens over the page when the session has ended, so that nothing typed is lost. */
export function SessionEndDialog() {
  const hasEnded = useSessionEnded();
  const cache = useQueryClient();
  const href = useRouterState({ select: ({ location }) => location.href });
  return (
    <Modal opened={hasEnded} onClose={() => undefined} withCloseButton={false} title="Your session ended">
      <Stack gap="md">
        <p>Your input is kept. Sign in to continue here.</p>
        <SignInForm returnTo={`/console${href}`} onSignedIn={() => void cache.invalidateQueries()} />
      </Stack>
    </Modal>
  );
}
