export interface DataUrl {
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}

const dataUrlHead = /^data:[\w.+-]+\/[\w.+-]+(?:;[^,;]*)*;base64,/
/** Of what stands before the data; millions of parameters would exceed the stack of the pattern. */
const maxHeadLength = 1_024

/** The parts of a `data:` URL, without a regular expression over the data, which has megabytes. Null for any other value. */
export function splitDataUrl(url: unknown): DataUrl | null {
  if (typeof url !== 'string' || !dataUrlHead.test(url.slice(0, maxHeadLength))) return null
  const mediaType = url.slice('data:'.length, url.indexOf(';'))
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data: url.slice(url.indexOf(',') + 1) }
}
