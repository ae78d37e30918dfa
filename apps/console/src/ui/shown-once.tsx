import { Button, Group } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useRef } from 'react';
import { Snippet } from './copy.js';
import { Question } from './discard-question.js';

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
      <Question
        opened={blocker.status === 'blocked'}
        title={`Leave without ${what}?`}
        stay="Stay"
        leave="Leave"
        onStay={() => blocker.reset?.()}
        onLeave={() => {
          mayLeave.current = true;
          blocker.proceed?.();
        }}
      >
        <p>It cannot be shown again. {remedy}</p>
      </Question>
    </>
  );
}
