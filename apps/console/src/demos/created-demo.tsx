import type { DemoBody } from '@corral/contracts';
import { Panel } from '../ui/columns.js';
import { Copyable, Snippet } from '../ui/copy.js';
import { Section } from '../ui/page.js';
import { ShownOnce } from '../ui/shown-once.js';
import { Expiry } from '../ui/time.js';

/** The answer to the creation of a demo. */
export interface NewDemo {
  readonly demo: DemoBody;
  readonly token: string;
}

export interface CreatedDemoProps {
  readonly created: NewDemo;
  /** Null while it is not known. */
  readonly endpoint: string | null;
  readonly onStored: () => void;
}

/** A new demo with its token, and what to give to the person who works with it. */
export function CreatedDemo({ created: { demo, token }, endpoint, onStored }: CreatedDemoProps) {
  const { label, zone, expires_at } = demo;
  const commands = `export HCLOUD_ENDPOINT=${endpoint}
export HCLOUD_TOKEN=${token}
hcloud zone rrset create --name ${label} --type A --record 192.0.2.10 ${zone}
dig +short ${label}.${zone}`;
  return (
    <Panel>
      <Section title={`Demo ${label} created`}>
        <p>
          <Copyable text={`${label}.${zone}`} /> and names below it, until <Expiry at={expires_at} />.
        </p>
        <ShownOnce
          secret={token}
          what="the token of the demo"
          remedy="If it is lost, end the demo and create another."
          onStored={onStored}
        >
          {endpoint !== null && <Snippet text={commands} label="commands for the demo" />}
        </ShownOnce>
      </Section>
    </Panel>
  );
}
