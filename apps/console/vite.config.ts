import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

// biome-ignore lint/style/noDefaultExport: Vite reads the default export.
export default defineConfig(({ mode }) => ({
  base: '/console/',
  plugins: [react()],
  // Packages of this repository are bundled from their sources: they need not be built first.
  resolve: { conditions: ['@corral/source', ...defaultClientConditions] },
  // The server replaces it in each answer, see `apps/cluster-api/src/console`.
  html: { cspNonce: '{{nonce}}' },
  build: {
    target: 'es2022',
    // The Content-Security-Policy allows no `data:` scripts or fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    sourcemap: false,
    // The page of all components, for tests. Vite's server has it in any mode.
    ...(mode === 'components' ? { rollupOptions: { input: 'components.html' } } : {}),
  },
}));
