import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';

/** The navigation where the window has no room for it. */
export function MenuDrawer({ onClose, children }: { readonly onClose: () => void; readonly children: ReactNode }) {
  return (
    <Drawer opened onClose={onClose} size="16rem" title="Corral">
      {children}
    </Drawer>
  );
}
