import { Page } from '../ui/page.js';

export function PeoplePage() {
  return <Page title="People">…</Page>;
}
