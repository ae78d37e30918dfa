import { Page } from '../ui/page.js';

export function InvitationPage() {
  return <Page title="Invitation">…</Page>;
}
