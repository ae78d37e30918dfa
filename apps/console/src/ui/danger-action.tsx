import { Button, type ButtonProps } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { DangerDialog } from './danger-dialog.js';

export interface DangerActionProps {
  /** The label of the button that asks. */
  readonly label: string;
  /** What it is about, for screen readers, where several buttons have the label. */
  readonly target?: string;
  /** How the button looks where it is not as usual. */
  readonly button?: ButtonProps;
  readonly title: string;
  readonly confirmation: string;
  /** Verb and object. */
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  /** What is lost. */
  readonly children: ReactNode;
}

/** A button that destroys something, after its dialog was confirmed. */
export function DangerAction({ label, target, button, onConfirm, ...dialog }: DangerActionProps) {
  const [isAsking, setAsking] = useState(false);
  const run = useMutation({ mutationFn: onConfirm, onSuccess: () => setAsking(false) });
  return (
    <>
      <Button
        variant={target === undefined ? 'default' : 'subtle'}
        color="bad"
        {...button}
        onClick={() => setAsking(true)}
      >
        {label}
        {target !== undefined && <span className="visually-hidden"> {target}</span>}
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
        {...dialog}
      />
    </>
  );
}
