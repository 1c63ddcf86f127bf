/** Where an image lies in a folder of images. */
import { join } from 'node:path'
import type { ImageRecord } from '../../membership/image.ts'
import { endings } from './sniff.ts'

/** Two levels of folders, because thousands of files in one are slow everywhere. */
export function imageFileIn(directory: string, { hash, kind }: Pick<ImageRecord, 'hash' | 'kind'>): string {
  return join(directory, hash.slice(0, 2), hash.slice(2, 4), `${hash}.${endings[kind]}`)
}
