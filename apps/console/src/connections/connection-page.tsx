import { Page } from '../ui/page.js';

export function ConnectionPage() {
  return <Page title="Connection">…</Page>;
}
