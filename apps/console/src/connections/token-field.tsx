import { clusterLimits } from '@corral/contracts';
import { PasswordInput, type PasswordInputProps } from '@mantine/core';

/** The API token of a cloud project. Password managers must not offer the password of the person for it. */
export const TokenField = (props: PasswordInputProps) => (
  <PasswordInput
    size="xs"
    description="Create it in the cloud project, under Security, with read and write access. It is stored encrypted and never shown; a reload of this page loses it."
    maxLength={clusterLimits.tokenCharacters}
    autoComplete="off"
    spellCheck={false}
    visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
    {...props}
  />
);
