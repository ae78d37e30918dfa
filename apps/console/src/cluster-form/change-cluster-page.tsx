import { Page } from '../ui/page.js';

export function ChangeClusterPage() {
  return <Page title="Change cluster">…</Page>;
}
