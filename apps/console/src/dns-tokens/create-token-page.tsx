import { Page } from '../ui/page.js';

export function CreateTokenPage() {
  return <Page title="Create DNS token">…</Page>;
}
