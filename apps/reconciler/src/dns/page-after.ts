import type { RrsetPage } from '@corral/hcloud';

export interface ListedPage {
  /** Counts from 1. */
  readonly page: number;
  readonly listed: Pick<RrsetPage, 'rrsets' | 'nextPage' | 'totalEntries'>;
  /** How many sets the upstream counted at the page before; null at the first one, or where it does not count. */
  readonly listedTotal: number | null;
  /** How often the walk may still go back. */
  readonly returnsLeft: number;
}

export interface PageAfter {
  /** Null at the end of the list. */
  readonly nextPage: number | null;
  readonly listedTotal: number | null;
  readonly isReturn: boolean;
  /** Sets that may have been passed by, and that the walk does not go back for. */
  readonly missed: number;
}

/** As many as the upstream puts on one page at most. */
const SETS_PER_PAGE = 100;

/**
 * Where to read on. When sets went upstream between two pages, all behind them moved up, some onto pages that were read
 * before: the walk goes back as far as they can have moved. Sets that came move others down, which are seen twice.
 */
export function pageAfter({ page, listed, listedTotal, returnsLeft }: ListedPage): PageAfter {
  const total = listed.totalEntries;
  const gone = total === null || listedTotal === null ? 0 : Math.max(0, listedTotal - total);
  const goesBack = gone > 0 && page > 1 && returnsLeft > 0;
  return {
    nextPage: goesBack ? Math.max(1, page - Math.ceil(gone / SETS_PER_PAGE)) : listed.nextPage,
    listedTotal: total,
    isReturn: goesBack,
    missed: page > 1 && !goesBack ? gone : 0,
  };
}
