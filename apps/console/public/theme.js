// Runs before the first paint, so that the page does not flash in the wrong theme. The key is that of `src/ui/theme.ts`.
(() => {
  let chosen = 'auto';
  try {
    chosen = localStorage.getItem('corral.theme') || 'auto';
  } catch {
    // Storage is blocked: follow the system.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();
