/**
 * Counts the pages of a PDF without a PDF library: the page objects in the file and in its object streams. Time and memory are bounded, and
 * a broken or encrypted file gives null or fewer pages, so callers need a floor by the file's size.
 */
import { constants, inflateSync } from 'node:zlib'

/** Inflated bytes at most: of one object stream, and of all streams of a file, also by its size. A page object needs a hundred. */
const maxStreamBytes = 1024 * 1024
const maxInflatedBytes = 4 * maxStreamBytes
const maxInflationFactor = 16
/** Between `obj` and `stream`: the dictionary of a stream. */
const maxDictionaryBytes = 1_024
/** No real prompt has more; a larger number is a lie or an attack. */
const maxPages = 10_000

/** Null if no page was found. */
export function countPdfPages(file: Buffer): number | null {
  let pages = countPageObjects(file)
  let remainingBytes = Math.min(maxInflatedBytes, file.length * maxInflationFactor)
  let at = 0
  while (remainingBytes > 0) {
    at = file.indexOf('/ObjStm', at, 'latin1')
    if (at === -1) break
    at += '/ObjStm'.length
    const maxBytes = Math.min(remainingBytes, maxStreamBytes)
    const objects = inflateObjectStream(file, at, maxBytes)
    // A stream that fails may have been inflated up to the bound.
    remainingBytes -= objects === null ? maxBytes : Math.max(objects.length, maxDictionaryBytes)
    if (objects !== null) pages += countPageObjects(objects)
  }
  return pages === 0 ? null : Math.min(pages, maxPages)
}

/** Occurrences of `/Type /Page`, which is no prefix of a longer name such as `/Pages`. */
function countPageObjects(bytes: Buffer): number {
  let pages = 0
  for (let at = bytes.indexOf('/Page', 0, 'latin1'); at !== -1; at = bytes.indexOf('/Page', at + 5, 'latin1')) {
    if (!isNameCharacter(bytes[at + 5]) && isAfterType(bytes, at)) pages++
  }
  return pages
}

function isAfterType(bytes: Buffer, at: number): boolean {
  let end = at
  while (end > at - 8 && end > 0 && isSpace(bytes[end - 1])) end--
  return end >= 5 && bytes.toString('latin1', end - 5, end) === '/Type'
}

/** The objects of the stream whose dictionary holds this position; null if they cannot be read. */
function inflateObjectStream(file: Buffer, at: number, maxBytes: number): Buffer | null {
  const near = file.subarray(at, at + maxDictionaryBytes)
  const keyword = near.indexOf('stream', 0, 'latin1')
  if (keyword === -1) return null
  let start = at + keyword + 'stream'.length
  if (file[start] === 0x0d) start++
  if (file[start] === 0x0a) start++
  try {
    // The compressed data itself has the end; bytes after it are ignored, and a stream that is cut off gives its beginning.
    return inflateSync(file.subarray(start, start + maxBytes), {
      maxOutputLength: maxBytes,
      finishFlush: constants.Z_SYNC_FLUSH,
    })
  } catch {
    return null
  }
}

function isNameCharacter(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39)
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0x0c || byte === 0
}
