import { Button, Group, Modal, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface QuestionProps {
  readonly opened: boolean;
  readonly title: string;
  readonly stay: string;
  readonly leave: string;
  readonly onStay: () => void;
  readonly onLeave: () => void;
  readonly children?: ReactNode;
}

/** Asks before something is lost: to stay is the choice that has the focus. */
export const Question = ({ opened, title, stay, leave, onStay, onLeave, children }: QuestionProps) => (
  <Modal opened={opened} onClose={onStay} title={title}>
    <Stack>
      {children}
      <Group justify="flex-end">
        <Button data-autofocus onClick={onStay}>
          {stay}
        </Button>
        <Button variant="filled" color="bad" onClick={onLeave}>
          {leave}
        </Button>
      </Group>
    </Stack>
  </Modal>
);

/** @param question null when nothing is lost: then `go` happens at once */
export type AskToDiscard = (question: string | null, go: () => void) => void;

/** Asks before something replaces what a person typed. @returns how to ask, and the dialog, which stands anywhere on the page */
export function useDiscardQuestion(): [AskToDiscard, ReactNode] {
  const [asked, setAsked] = useState<{ readonly question: string; readonly go: () => void } | null>(null);
  const keep = () => setAsked(null);
  const discard = () => {
    keep();
    asked?.go();
  };
  const ask: AskToDiscard = (question, go) => (question === null ? go() : setAsked({ question, go }));
  const dialog = asked && (
    <Question opened title={asked.question} stay="Keep editing" leave="Discard" onStay={keep} onLeave={discard} />
  );
  return [ask, dialog];
}
