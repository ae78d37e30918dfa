import { isCorralError } from '@corral/client';
import './ui/global.css';
import { QueryClient } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { consoleRouter } from './router.js';
import { nonce } from './settings.js';
import { applyDensity } from './ui/density.js';
import { Themed } from './ui/themed.js';

const RETRIES = 2;

/** The composition root: one cache, one router. */
function start(): void {
  setNonce(nonce);
  applyDensity();
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        // Live changes keep the cache up to date, see `api/live-cache.ts`.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        retry: (failures, error) =>
          failures < RETRIES && isCorralError(error) && (error.status === 0 || error.status >= 500),
      },
    },
  });
  const root = document.getElementById('root');
  if (root === null) throw new Error('index.html has no #root');
  createRoot(root).render(
    <StrictMode>
      <Themed queries={queries}>
        <RouterProvider router={consoleRouter(queries)} />
      </Themed>
    </StrictMode>,
  );
}

start();
