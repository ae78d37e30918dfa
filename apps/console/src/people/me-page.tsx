import { Page } from '../ui/page.js';

export function MePage() {
  return <Page title="You">…</Page>;
}
