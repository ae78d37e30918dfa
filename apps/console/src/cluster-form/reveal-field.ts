/** The control of the field at a JSON pointer, or of the nearest field that contains it; null without one. */
export function fieldOf(form: HTMLElement | null, pointer: string): HTMLElement | null {
  for (let rest = pointer; rest !== ''; rest = rest.slice(0, rest.lastIndexOf('/'))) {
    const found = form?.querySelector<HTMLElement>(`[data-pointer="${CSS.escape(rest)}"]`);
    if (!found) continue;
    found.closest('details')?.setAttribute('open', '');
    return found;
  }
  return null;
}
