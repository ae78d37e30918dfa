import { Button, Group, Modal, Stack } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useRef } from 'react';
import { Snippet } from './copy.js';

interface ShownOnceProps {
  readonly secret: string;
  /** What it is, with its article: `the token`. */
  readonly what: string;
  /** How to get another one. */
  readonly remedy: string;
  readonly onStored: () => void;
  readonly children?: ReactNode;
}

/** A secret that no answer contains again. It lives in the state of the page only, so whoever leaves the page is asked first. */
export function ShownOnce({ secret, what, remedy, onStored, children }: ShownOnceProps) {
  const mayLeave = useRef(false);
  const blocker = useBlocker({
    shouldBlockFn: () => !mayLeave.current,
    enableBeforeUnload: () => !mayLeave.current,
    withResolver: true,
  });
  const stay = () => blocker.reset?.();
  return (
    <>
      <p>
        <strong>Shown only now.</strong> Corral keeps no copy. Store it where your tool reads it.
      </p>
      <Snippet text={secret} label={what} />
      {children}
      <Group>
        <Button
          variant="filled"
          onClick={() => {
            mayLeave.current = true;
            onStored();
          }}
        >
          I have stored it
        </Button>
      </Group>
      <Modal opened={blocker.status === 'blocked'} onClose={stay} title={`Leave without ${what}?`}>
        <Stack>
          <p>It cannot be shown again. {remedy}</p>
          <Group justify="flex-end">
            <Button data-autofocus onClick={stay}>
              Stay
            </Button>
            <Button
              variant="filled"
              color="bad"
              onClick={() => {
                mayLeave.current = true;
                blocker.proceed?.();
              }}
            >
              Leave
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
