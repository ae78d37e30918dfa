import { Page } from '../ui/page.js';

export function HomePage() {
  return <Page title="Home">…</Page>;
}
