import { Modal, Stack } from '@mantine/core';
import { SignInForm, type SignInFormProps } from './sign-in-form.js';

/** Covers the page, whose session has ended, until somebody signs in. */
export function SignInAgain(form: SignInFormProps) {
  return (
    <Modal opened onClose={() => undefined} withCloseButton={false} title="Your session ended">
      <Stack gap="md">
        <p>Your input is still here. Sign in to continue here.</p>
        <SignInForm {...form} />
      </Stack>
    </Modal>
  );
}
