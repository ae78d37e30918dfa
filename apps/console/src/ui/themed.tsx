import { MantineProvider } from '@mantine/core';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { nonce } from '../settings.js';
import { Announcer } from './announcer.js';
import { colorSchemeManager, cssVariablesResolver, theme } from './theme.js';

/** What every page stands in: theme, cache, the live region. */
export const Themed = ({ queries, children }: { readonly queries: QueryClient; readonly children: ReactNode }) => (
  <MantineProvider
    theme={theme}
    cssVariablesResolver={cssVariablesResolver}
    // Mantine's sheet of default values is not loaded.
    deduplicateCssVariables={false}
    colorSchemeManager={colorSchemeManager}
    defaultColorScheme="auto"
    getStyleNonce={() => nonce}
  >
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    <Announcer />
  </MantineProvider>
);
