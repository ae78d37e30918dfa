import { useWindowEvent } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useTeam } from '../shell/use-team.js';
import type { AskToDiscard } from '../ui/discard-question.js';
import { draftAt, putDraft } from '../ui/use-draft.js';
import { zoneFileDraft } from '../zone-file/zone-file-draft.js';

/**
 * Tells several lines from one value, when something is pasted.
 *
 * @param onLines takes the text instead of the field
 */
export const linesPasted =
  (onLines: (text: string) => void) =>
  (event: { readonly clipboardData: DataTransfer | null; readonly preventDefault: () => void }): void => {
    const text = event.clipboardData?.getData('text') ?? '';
    if (text.split('\n').filter((line) => line.trim() !== '').length < 2) return;
    event.preventDefault();
    onLines(text);
  };

/**
 * Opens the plan of several lines that are pasted into the page.
 *
 * @param ask before they replace a zone file that is there
 * @returns the same for lines pasted into a field
 */
export function useLinesPasted(ask: AskToDiscard): (text: string) => void {
  const { slug: team, me } = useTeam();
  const navigate = useNavigate();
  const onLines = (text: string) => {
    const key = zoneFileDraft(me.id, team);
    const isReplacing = !['', text].includes(draftAt(key, ''));
    ask(isReplacing ? 'Discard the zone file that you typed?' : null, () => {
      putDraft(key, text);
      void navigate({ to: '/teams/$team/dns/zone-file', params: { team } });
    });
  };
  useWindowEvent('paste', (event) => {
    if (!(event.target instanceof HTMLInputElement)) linesPasted(onLines)(event);
  });
  return onLines;
}
