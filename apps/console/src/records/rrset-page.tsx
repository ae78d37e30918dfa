import { Page } from '../ui/page.js';

export function RrsetPage() {
  return <Page title="Record set">…</Page>;
}
