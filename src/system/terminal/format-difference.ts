/** The difference between two texts of a file, as `diff -u` prints it. */
import { createTwoFilesPatch } from 'diff'

/** @param before undefined where there was no file. Empty if the texts are equal. */
export function formatDifference(path: string, before: string | undefined, after: string): string {
  if (before === after) return ''
  return createTwoFilesPatch(before === undefined ? '/dev/null' : path, path, before ?? '', after, undefined, undefined, {
    context: 2,
    headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
  })
}
