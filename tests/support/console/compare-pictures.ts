import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Page } from 'playwright-core';

/** How much the channels of a pixel may differ: less than a person sees. */
const CHANNEL_TOLERANCE = 16;

/**
 * Compares what a page shows with a stored picture. With `CORRAL_WRITE_PICTURES=1` it is stored anew: look at it before you commit it.
 *
 * @param file PNG. The actual picture is put beside it, with `.actual.png`, when they differ
 * @returns the share of pixels that differ, from 0 to 1; 1 for another size
 */
export async function differenceFrom(page: Page, file: string): Promise<number> {
  const actual = await page.screenshot({ fullPage: true, animations: 'disabled' });
  if (process.env.CORRAL_WRITE_PICTURES === '1') {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, actual);
    return 0;
  }
  const pictures = [await readFile(file), actual].map((picture) => picture.toString('base64'));
  const share = await page.evaluate(shareOfOtherPixels, { pictures, tolerance: CHANNEL_TOLERANCE });
  if (share > 0) await writeFile(file.replace(/\.png$/, '.actual.png'), actual);
  return share;
}

/** Runs in the browser, which can read pictures. */
async function shareOfOtherPixels({ pictures, tolerance }: { pictures: string[]; tolerance: number }): Promise<number> {
  const [one, other] = await Promise.all(
    pictures.map(async (picture) => {
      const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext(
        '2d',
      ) as OffscreenCanvasRenderingContext2D;
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height);
    }),
  );
  if (one === undefined || other === undefined || one.width !== other.width || one.height !== other.height) return 1;
  let differing = 0;
  for (let at = 0; at < one.data.length; at += 4) {
    const isOther = [0, 1, 2].some((channel) => {
      const place = at + channel;
      return Math.abs((one.data[place] ?? 0) - (other.data[place] ?? 0)) > tolerance;
    });
    if (isOther) differing += 1;
  }
  return differing / (one.data.length / 4);
}
