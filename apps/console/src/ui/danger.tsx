import { Button, type ButtonProps, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Failed } from './states.js';

export interface DangerActionProps {
  /** The label of the button that asks. */
  readonly label: string;
  /** What it is about, for screen readers, where several buttons have the label. */
  readonly target?: string;
  /** How the button looks where it is not as usual. */
  readonly button?: ButtonProps;
  /** The label with the target, if absent. */
  readonly title?: string;
  /** What has to be typed: the target, if absent. */
  readonly confirmation?: string;
  /** Verb and object. */
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  /** What is lost. */
  readonly children: ReactNode;
}

/** A button that destroys something, after its dialog was confirmed. */
export function DangerAction({ label, target = '', button, onConfirm, ...dialog }: DangerActionProps) {
  const [isAsking, setAsking] = useState(false);
  const run = useMutation({ mutationFn: onConfirm, onSuccess: () => setAsking(false) });
  return (
    <>
      <Button variant={target === '' ? 'default' : 'subtle'} color="bad" {...button} onClick={() => setAsking(true)}>
        {label}
        {target !== '' && <span className="visually-hidden"> {target}</span>}
      </Button>
      <DangerDialog
        opened={isAsking}
        onClose={() => {
          setAsking(false);
          run.reset();
        }}
        onConfirm={() => run.mutate()}
        isPending={run.isPending}
        error={run.error}
        title={`${label} ${target}`}
        confirmation={target}
        {...dialog}
      />
    </>
  );
}

interface DangerDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** What has to be typed, such as the name of the cluster. */
  readonly confirmation: string;
  /** Verb and object, such as `Delete cluster`. */
  readonly action: string;
  /** What is lost. */
  readonly children: ReactNode;
  readonly onConfirm: () => void;
  readonly isPending: boolean;
  readonly error: unknown;
}

/** Asks for the name of what is about to be destroyed. The button stays enabled and says what is missing. */
export function DangerDialog(props: DangerDialogProps) {
  const { opened, onClose, title, confirmation, action, children, onConfirm, isPending, error } = props;
  const [typed, setTyped] = useState('');
  const [isRefused, setRefused] = useState(false);
  const close = () => {
    setTyped('');
    setRefused(false);
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={title} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() === confirmation) onConfirm();
          else setRefused(true);
        }}
      >
        <Stack gap="md">
          {children}
          <TextInput
            data-autofocus
            label={`Type ${confirmation} to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            error={isRefused && typed.trim() !== confirmation ? `This is not ${confirmation}.` : null}
            autoComplete="off"
            spellCheck={false}
          />
          {error !== null && <Failed error={error} />}
          <Group justify="flex-end">
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" variant="filled" color="bad" loading={isPending}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
