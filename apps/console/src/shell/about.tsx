import { Modal } from '@mantine/core';
import { settings } from '../settings.js';

/** The dialog says which program this is. */
export function About({ onClose }: { readonly onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title="Corral">
      <p>Version {settings.version}. Licence: Apache-2.0.</p>
    </Modal>
  );
}
