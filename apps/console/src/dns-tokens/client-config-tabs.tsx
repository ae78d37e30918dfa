import { Tabs } from '@mantine/core';
import '@mantine/core/styles/Tabs.layer.css';
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
      {configs.map(({ id, label, secret, text, unsuitable, preparation }) => (
        <Tabs.Panel key={id} value={id} pt="sm">
          {unsuitable !== null && <p role="note">Not with this token. {unsuitable}</p>}
          {unsuitable === null && preparation !== null && <p className="muted">{preparation}</p>}
          {unsuitable === null && secret !== null && (
            <>
              <p className="muted">Run this in a shell. It holds the token: keep it out of files that you commit.</p>
              <Snippet text={secret} label={`the token for ${label}`} />
              <p className="muted">The configuration, without the token:</p>
            </>
          )}
          {unsuitable === null && <Snippet text={text} label={`the configuration of ${label}`} />}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
