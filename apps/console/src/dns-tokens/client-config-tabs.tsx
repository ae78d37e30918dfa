import { Tabs } from '@mantine/core';
import { Snippet } from '../ui/copy.js';
import { clientConfigs, type TokenUse } from './client-configs.js';

/** Configuration of the usual clients, ready to paste. */
export function ClientConfigTabs({ use }: { readonly use: TokenUse }) {
  const configs = clientConfigs(use);
  return (
    <Tabs defaultValue={configs[0]?.id ?? null} keepMounted={false}>
      <Tabs.List>
        {configs.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {configs.map(({ id, label, text, unsuitable, preparation }) => (
        <Tabs.Panel key={id} value={id} pt="sm">
          {unsuitable !== null && <p role="note">Not with this token. {unsuitable}</p>}
          {unsuitable === null && preparation !== null && <p className="muted">{preparation}</p>}
          {unsuitable === null && <Snippet text={text} label={`the configuration of ${label}`} />}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
