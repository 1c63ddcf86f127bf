/** Width times height of a PNG, JPEG, GIF or WebP; null for other files. The beginning of the file is enough. */
export function readPixels(file: Buffer): number | null {
  const size = readPng(file) ?? readGif(file) ?? readWebp(file) ?? readJpeg(file)
  return size === null || size.width === 0 || size.height === 0 ? null : size.width * size.height
}

interface Size {
  readonly width: number
  readonly height: number
}

function readPng(file: Buffer): Size | null {
  if (file.length < 24 || file.readUInt32BE(0) !== 0x89504e47 || file.toString('latin1', 12, 16) !== 'IHDR') return null
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
}

function readGif(file: Buffer): Size | null {
  if (file.length < 10 || file.toString('latin1', 0, 4) !== 'GIF8') return null
  return { width: file.readUInt16LE(6), height: file.readUInt16LE(8) }
}

function readWebp(file: Buffer): Size | null {
  if (file.length < 30 || file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WEBP') return null
  switch (file.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = file.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}

/** The frame header follows any number of segments, each with its length. */
function readJpeg(file: Buffer): Size | null {
  if (file.length < 4 || file.readUInt16BE(0) !== 0xffd8) return null
  for (let at = 2; at + 9 <= file.length;) {
    if (file[at] !== 0xff) return null
    const marker = file[at + 1] ?? 0
    if (marker === 0xff) at++
    else if (isFrameMarker(marker)) return { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) }
    else at += 2 + Math.max(2, file.readUInt16BE(at + 2))
  }
  return null
}

/** Start of frame, but for the tables that have numbers between them. */
function isFrameMarker(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}
