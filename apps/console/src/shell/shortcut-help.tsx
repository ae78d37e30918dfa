import { Modal } from '@mantine/core';
import { Table } from '../ui/table.js';
import { places } from './navigation.js';

interface Shortcut {
  readonly keys: string;
  readonly what: string;
}

const shortcuts: readonly Shortcut[] = [
  { keys: 'Ctrl or ⌘ K', what: 'Search pages, clusters, record sets and actions' },
  { keys: '/', what: 'Filter the list' },
  { keys: 'n', what: 'Create' },
  { keys: 'e', what: 'Change' },
  { keys: 'Ctrl or ⌘ ↵', what: 'Plan; once the plan is shown, apply it' },
  { keys: 'Enter or F2, Space, Delete', what: 'In record sets: edit, select, stage the removal of a set' },
  ...places.flatMap(({ key, label }) => (key === undefined ? [] : [{ keys: `g ${key}`, what: `Go to ${label}` }])),
  { keys: '?', what: 'Show these keys' },
];

/** The keys that `shortcuts.ts` listens to. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title="Keyboard">
      <Table
        caption="Keyboard shortcuts"
        rows={shortcuts}
        rowKey={({ keys }) => keys}
        columns={{ Keys: ({ keys }) => <kbd>{keys}</kbd>, 'What they do': ({ what }) => what }}
      />
    </Modal>
  );
}
