import type { DnsTokenHandling } from '@corral/contracts';
import { Radio, Stack } from '@mantine/core';
import '../ui/radio.css';

interface KeepTokensProps {
  readonly label: string;
  readonly value: DnsTokenHandling;
  readonly onChange: (handling: DnsTokenHandling) => void;
}

/** What happens to the DNS tokens of somebody who may have none any more. */
export const KeepTokens = ({ label, value, onChange }: KeepTokensProps) => (
  <Radio.Group label={label} value={value} onChange={(handling) => onChange(handling as DnsTokenHandling)}>
    <Stack gap="xs">
      <Radio value="revoke" label="Revoke them: what uses them stops working" />
      <Radio value="hand_over" label="Keep them: they belong to the team only" />
    </Stack>
  </Radio.Group>
);
