import { Page } from '../ui/page.js';

export function AdoptServerPage() {
  return <Page title="Adopt server">…</Page>;
}
