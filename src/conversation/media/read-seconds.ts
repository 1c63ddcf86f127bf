/** Seconds of a WAV or MP3 file; null for other files. `file` is the beginning of a file of `bytes`. */
export function readAudioSeconds(file: Buffer, bytes: number): number | null {
  return readWavSeconds(file, bytes) ?? readMp3Seconds(file, bytes) ?? readMovieSeconds(file)
}

/** Seconds of an MP4 or QuickTime file whose index is at its beginning; null for other files. */
export function readVideoSeconds(file: Buffer): number | null {
  return readMovieSeconds(file)
}

function readWavSeconds(file: Buffer, bytes: number): number | null {
  if (file.length < 44 || file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE') return null
  const format = file.indexOf('fmt ', 12, 'latin1')
  if (format === -1 || format + 20 > file.length) return null
  const bytesPerSecond = file.readUInt32LE(format + 16)
  return bytesPerSecond === 0 ? null : bytes / bytesPerSecond
}

/** Bits per second by the index in a frame's header: of MPEG-1 and of MPEG-2, layer 3. */
const bitRates = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const
/** Only the first frames are searched; the rest of the beginning may be a picture. */
const maxSearchedBytes = 64 * 1024

/** From the first frame's bit rate, so a file of variable rate is only estimated. */
function readMp3Seconds(file: Buffer, bytes: number): number | null {
  const hasTag = file.toString('latin1', 0, 3) === 'ID3' && file.length > 10
  const start = hasTag ? 10 + readSynchsafe(file, 6) : 0
  for (let at = start; at + 4 <= Math.min(file.length, start + maxSearchedBytes); at++) {
    if (file[at] !== 0xff) {
      // Without a tag, the first byte decides whether this is a recording at all.
      if (!hasTag) return null
      continue
    }
    const second = file[at + 1] ?? 0
    if ((second & 0xe6) !== 0xe2) {
      if (!hasTag) return null
      continue
    }
    const isMpeg1 = (second & 0x18) === 0x18
    const rate = bitRates[isMpeg1 ? 0 : 1][(file[at + 2] ?? 0) >> 4]
    if (rate === undefined || rate === 0) return null
    return ((bytes - start) * 8) / (rate * 1000)
  }
  return null
}

/** A length of four times seven bits. */
function readSynchsafe(file: Buffer, at: number): number {
  return [0, 1, 2, 3].reduce((sum, i) => sum * 128 + ((file[at + i] ?? 0) & 0x7f), 0)
}

/** The movie header (`mvhd`) has the units of a second and the length in them. */
function readMovieSeconds(file: Buffer): number | null {
  if (file.length < 12 || file.toString('latin1', 4, 8) !== 'ftyp') return null
  const at = file.indexOf('mvhd', 8, 'latin1')
  if (at === -1 || at + 36 > file.length) return null
  const isLong = file[at + 4] === 1
  const scale = file.readUInt32BE(at + (isLong ? 24 : 16))
  const duration = isLong ? Number(file.readBigUInt64BE(at + 28)) : file.readUInt32BE(at + 20)
  return scale === 0 || duration === 0 ? null : duration / scale
}
