/** Images, documents and search results. */
import { invalidRequest } from '../../errors.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { invalidField, isAbsent, readOptionalText, requireList, requireObject, requireText } from '../shared/fields.ts'
import { requireFileData, requireImageUrl } from '../shared/image-data.ts'

export function translateImage(block: JsonObject, path: string): JsonObject {
  const source = requireObject(block['source'], `${path}.source`)
  const { type, url, media_type: mediaType, data } = source
  if (type !== 'url' && type !== 'base64') throw fileError(`${path}.source`)
  if (type === 'url') return toImagePart(requireImageUrl(url, `${path}.source.url`))
  if (typeof mediaType !== 'string' || !mediaType.startsWith('image/'))
    throw invalidField(`${path}.source.media_type`, 'must be the type of an image', '必须是图片类型')
  const dataPath = `${path}.source.data`
  return toImagePart(requireImageUrl(`data:${mediaType};base64,${requireText(data, dataPath)}`, dataPath))
}

function toImagePart(url: string): JsonObject {
  return { type: 'image_url', image_url: { url } }
}

/** Title and context of a document stand before its text; the title of a file is its name. */
export function translateDocument(block: JsonObject, path: string): readonly JsonObject[] {
  const source = requireObject(block['source'], `${path}.source`)
  const { type, content } = source
  const title = readOptionalText(block['title'], `${path}.title`) ?? ''
  const context = readOptionalText(block['context'], `${path}.context`) ?? ''
  const head = [title, context].filter((text) => text !== '').map((text) => ({ type: 'text', text }))
  switch (type) {
    case 'text':
      return joinTexts([...head, toTextPart(requireText(source['data'], `${path}.source.data`))])
    case 'content': {
      const parts = typeof content === 'string' ? [toTextPart(content)] : translateContent(content, `${path}.source.content`)
      return joinTexts([...head, ...parts])
    }
    case 'base64': {
      const data = requireFileData(source['data'], `${path}.source.data`)
      const filenameField = title === '' ? {} : { filename: title }
      const file = { type: 'file', file: { ...filenameField, file_data: `data:application/pdf;base64,${data}` } }
      return context === '' ? [file] : [toTextPart(context), file]
    }
    default:
      throw fileError(`${path}.source`)
  }
}

/** Texts and pictures, which are all that it may have. */
function translateContent(content: unknown, path: string): readonly JsonObject[] {
  return requireList(content, path).flatMap((each, i) => {
    const block = requireObject(each, `${path}[${i}]`)
    if (block['type'] === 'image') return [translateImage(block, `${path}[${i}]`)]
    return block['type'] === 'text' ? [toTextPart(readOptionalText(block['text'], `${path}[${i}].text`) ?? '')] : []
  })
}

/** Texts in a row are one text. */
function joinTexts(parts: readonly JsonObject[]): readonly JsonObject[] {
  const joinedParts: JsonObject[] = []
  let texts: unknown[] = []
  const flush = (): void => {
    if (texts.some((text) => text !== '')) joinedParts.push(toTextPart(texts.join('\n')))
    texts = []
  }
  for (const part of parts)
    if (part['type'] === 'text') texts.push(part['text'])
    else {
      flush()
      joinedParts.push(part)
    }
  flush()
  return joinedParts
}

function toTextPart(text: string): JsonObject {
  return { type: 'text', text }
}

export function translateSearchResult({ title, source, content }: JsonObject, path: string): JsonObject {
  const head = [readOptionalText(title, `${path}.title`), readOptionalText(source, `${path}.source`)]
  const texts = isAbsent(content) ? [] : readTexts(content, `${path}.content`)
  return { type: 'text', text: [...head, ...texts].filter((text) => text !== undefined && text !== '').join('\n') }
}

/** The texts of a list of text blocks. Other blocks that it may have are not shown to the model. */
function readTexts(content: unknown, path: string): readonly string[] {
  return requireList(content, path).map((each, i) => {
    const block = requireObject(each, `${path}[${i}]`)
    return block['type'] === 'text' ? (readOptionalText(block['text'], `${path}[${i}].text`) ?? '') : ''
  })
}

/** The gateway fetches nothing for a member, and uploaded files belong to the operator's account. */
function fileError(path: string) {
  return invalidRequest(
    { en: `'${path}' must hold the contents; send them as base64.`, zh: `'${path}' 必须包含内容本身，请以 base64 发送。` },
    path,
  )
}
