import { clusterLimits } from '@corral/contracts';
import { PasswordInput } from '@mantine/core';
import type { Ref } from 'react';

export interface TokenFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
  readonly inputRef?: Ref<HTMLInputElement>;
}

/** The API token of a cloud project. Password managers must not offer the password of the person for it. */
export function TokenField({ label, value, onChange, error, inputRef }: TokenFieldProps) {
  return (
    <PasswordInput
      ref={inputRef ?? null}
      label={label}
      size="xs"
      description="Create it in the cloud project, under Security, with read and write access. It is stored encrypted and never shown; a reload of this page loses it."
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      maxLength={clusterLimits.tokenCharacters}
      autoComplete="off"
      spellCheck={false}
      visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
    />
  );
}
