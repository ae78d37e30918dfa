export type Density = 'compact' | 'comfortable';

const KEY = 'corral.density';

export const densityOf = (): Density => (localStorage.getItem(KEY) === 'comfortable' ? 'comfortable' : 'compact');

/** Sets the height of rows, and keeps the choice in this browser. */
export function setDensity(density: Density): void {
  localStorage.setItem(KEY, density);
  applyDensity();
}

/** Called at the start of the page. */
export function applyDensity(): void {
  document.documentElement.dataset.density = densityOf();
}
