import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { corral } from '../api/corral.js';
import { forgetDnsSessions } from '../api/dns-client.js';
import { clearDrafts } from '../ui/use-draft.js';

/** Ends the session here, with all that was typed and loaded. @param isEverywhere ends those elsewhere, too */
export function useSignOut(isEverywhere = false) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => (isEverywhere ? corral.signOutEverywhere({}) : corral.signOut({})),
    onSuccess: async () => {
      clearDrafts();
      forgetDnsSessions();
      await navigate({ to: '/sign-in' });
      cache.clear();
    },
  });
}
