/** Detects an image's type by its first bytes; declared types prove nothing. SVG can contain scripts and is not supported. */
import type { ImageKind } from '../domain/image.ts'

export const contentTypes = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp' } as const satisfies Record<
  ImageKind,
  string
>

/** File extensions. */
export const fileExtensions = { png: 'png', jpeg: 'jpg', webp: 'webp' } as const satisfies Record<ImageKind, string>

export function sniff(bytes: Buffer): ImageKind | null {
  if (bytes.length >= 24 && bytes.subarray(0, 8).equals(pngSignature) && bytes.toString('latin1', 12, 16) === 'IHDR') return 'png'
  if (bytes.length >= 4 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return 'jpeg'
  if (bytes.length >= 16 && bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'webp'
  return null
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
