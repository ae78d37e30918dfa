import { Button, Group, Modal } from '@mantine/core';
import { type ReactNode, useState } from 'react';

/** @param question null when nothing is lost: then `go` happens at once */
export type AskToDiscard = (question: string | null, go: () => void) => void;

/** Asks before something replaces what a person typed. @returns how to ask, and the dialog, which stands anywhere on the page */
export function useDiscardQuestion(): [AskToDiscard, ReactNode] {
  const [asked, setAsked] = useState<{ readonly question: string; readonly go: () => void } | null>(null);
  const keep = () => setAsked(null);
  const ask: AskToDiscard = (question, go) => (question === null ? go() : setAsked({ question, go }));
  const dialog = asked && (
    <Modal opened onClose={keep} title={asked.question}>
      <Group justify="flex-end">
        <Button data-autofocus onClick={keep}>
          Keep editing
        </Button>
        <Button
          variant="filled"
          color="bad"
          onClick={() => {
            keep();
            asked.go();
          }}
        >
          Discard
        </Button>
      </Group>
    </Modal>
  );
  return [ask, dialog];
}
