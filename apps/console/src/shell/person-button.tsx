import { Button, type ButtonProps } from '@mantine/core';
import { CircleUser } from 'lucide-react';
import type { ComponentProps } from 'react';

/** The button shows who is signed in. It opens the person's menu, and stands alone until that is loaded. */
export function PersonButton({
  person,
  ...more
}: { readonly person: { readonly displayName: string; readonly email: string } } & ButtonProps &
  ComponentProps<'button'>) {
  return (
    <Button
      variant="subtle"
      color="gray"
      leftSection={<CircleUser size={14} aria-hidden />}
      justify="flex-start"
      {...more}
    >
      {person.displayName || person.email}
    </Button>
  );
}
