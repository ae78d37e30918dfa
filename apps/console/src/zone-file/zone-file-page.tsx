import { Page } from '../ui/page.js';

export function ZoneFilePage() {
  return <Page title="Zone file">…</Page>;
}
