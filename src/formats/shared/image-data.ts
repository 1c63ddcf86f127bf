/** Checks of images and files that a request holds. */
import { invalidField, requireText } from './fields.ts'

/** First characters of each type's files in Base64. */
const base64Prefixes: Readonly<Record<string, RegExp>> = {
  'image/png': /^iVBORw0KGgo/,
  'image/jpeg': /^\/9j\//,
  'image/gif': /^R0lGOD/,
  'image/webp': /^UklGR/,
}

const dataUrlHead = /^data:(image\/[\w.+-]+)(?:;[\w=-]+)*;base64,/i
/** Of what stands before the data; millions of parameters would exceed the stack of the pattern. */
const maxHeadLength = 1_024
const base64Pattern = /^[A-Za-z0-9+/_-]+={0,2}$/

/** Line ends are accepted, because some encoders write them. */
const fileDataPattern = /^[A-Za-z0-9+/_\s-]+={0,2}\s{0,2}$/

/**
 * A file in Base64, bare or as a `data:` URL.
 * @throws GatewayError if it is none
 */
export function requireFileData(value: unknown, path: string): string {
  const text = requireText(value, path)
  const comma = text.startsWith('data:') ? text.slice(0, maxHeadLength).indexOf(',') : -1
  if (!fileDataPattern.test(comma === -1 ? text : text.slice(comma + 1)))
    throw invalidField(path, 'must be a file in Base64', '必须是 Base64 编码的文件')
  return text
}

/**
 * An address, or a `data:` URL that holds an image. Other types than the four usual ones are left to the upstream, and an image may have the
 * type of another, because upstreams look at the data.
 * @throws GatewayError if it is none
 */
export function requireImageUrl(value: unknown, path: string): string {
  const url = requireText(value, path)
  if (/^https?:\/\/./i.test(url)) return url
  const [, type = ''] = dataUrlHead.exec(url.slice(0, maxHeadLength)) ?? []
  const data = url.slice(url.indexOf(',') + 1)
  const isImage =
    type !== '' &&
    base64Pattern.test(data) &&
    (!(type.toLowerCase() in base64Prefixes) || Object.values(base64Prefixes).some((prefix) => prefix.test(data)))
  if (!isImage)
    throw invalidField(
      path,
      'must be an http(s) address or a data: URL of an image in Base64',
      '必须是 http(s) 地址，或 Base64 编码图片的 data: URL',
    )
  return url
}
