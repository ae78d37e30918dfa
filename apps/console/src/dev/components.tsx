import '../ui/global.css';
import '@mantine/core/styles/Switch.layer.css';
import '../ui/radio.css';
import '../ui/segmented-control.css';
import { QueryClient } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { applyDensity } from '../ui/density.js';
import { Themed } from '../ui/themed.js';
import { Gallery } from './gallery.js';

/*
 * All components in all states, with fixed data: for those who change `src/ui`, and for pictures that tests compare. Vite's server has
 * it at `/console/components.html`; it is no part of the built console.
 */

applyDensity();
const root = createRootRoute({ staticData: { title: 'Components' }, component: Gallery });
const router = createRouter({ routeTree: root, history: createMemoryHistory() });
createRoot(document.getElementById('root') as HTMLElement).render(
  <Themed queries={new QueryClient()}>
    <RouterProvider router={router as never} />
  </Themed>,
);
