import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

export interface LinkButtonProps {
  /** Path below `/console`. */
  readonly to: string;
  readonly children: ReactNode;
  /** `filled` for the one main action of a page. */
  readonly variant?: 'filled' | 'default';
  /** Key that presses it, see `shell/shortcuts.ts`. */
  readonly shortcut?: string;
}

/** A link that looks like a button: it opens a page. */
export function LinkButton({ to, children, variant = 'filled', shortcut }: LinkButtonProps) {
  return (
    <Button variant={variant} data-shortcut={shortcut} renderRoot={(props) => <Link to={to} {...props} />}>
      {children}
    </Button>
  );
}
